// What a cascade is made of as JSON and back: a lane's rules, how it estimates, what a fit wrote beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "host/lanes/estimator/rules_json.hpp"
#include "pandora/cascade.hpp"

namespace pandora {

/// "thresholds", "router", "routed" or "indices".
const char* kind_of(const CascadeOptions& cascade);
/// Whether no prompt makes it call a second model.
bool calls_one_model(const CascadeOptions& cascade);

/// What a fit wrote beside its cascade; an empty object where there is nothing.
nlohmann::json record_of(const CascadeOptions& cascade);
/// Dollars of judging a call, as the fit counted them; none where nobody said.
std::optional<double> counted_judge_usd(const nlohmann::json& record);

}  // namespace pandora
