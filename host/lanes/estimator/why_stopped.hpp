// Why a period's walk (kernels/rules/period.hpp) ended where it did, in words.
#pragma once

#include <functional>
#include <string>

#include "kernels/rules/period.hpp"

namespace pandora {

/// `score` and `estimate` (the lane's mu of the opened boxes): A numbers. `name`: what a box is called.
std::string why_stopped(const LaneSpec& spec, const PeriodRules& rules, const PeriodOutcome& outcome, int A,
                        const double* score, const double* estimate, const std::function<std::string(int box)>& name);

}  // namespace pandora
