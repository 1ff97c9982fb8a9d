// The text of a variant's hyperparameters, such as "c_rho=0.1;c_theta=1", taken apart for columns of their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/studies/study/study.hpp"

namespace pandora {

/// Name and value of each; what is no NAME=VALUE has the name "variant".
std::vector<std::pair<std::string, std::string>> hyperparameter_values(const std::string& text);

/// c_rho, c_theta and c_b, then the names that registered policies have, then those that variants of the plan have
/// beside.
std::vector<std::string> hyperparameter_columns(const Plan& plan);

/// The value under that name; empty if the variant has none.
std::string hyperparameter_of(const std::string& text, const std::string& name);

}  // namespace pandora
