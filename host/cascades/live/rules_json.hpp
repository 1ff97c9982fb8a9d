// What a cascade is made of as JSON and back: a lane's rules, how it estimates, what a fit wrote beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "pandora/cascade.hpp"

namespace pandora {

/// What a learning lane's rules are (no fixed order, no thresholds).
nlohmann::json rules_json(const LaneSpec& rules);
/// Throws Damaged (host/ground/files/sealed_file.hpp) where a member is missing or out of range.
LaneSpec rules_of(const nlohmann::json& json);

/// Schedule, ridges and what is forgotten.
nlohmann::json estimation_json(const EstimationOptions& options);
EstimationOptions estimation_of(const nlohmann::json& json);

nlohmann::json stream_json(const Stream& stream);
Stream stream_of(const nlohmann::json& json, Purpose purpose);

/// "thresholds", "router", "routed" or "indices".
const char* kind_of(const CascadeOptions& cascade);
/// Whether no prompt makes it call a second model.
bool calls_one_model(const CascadeOptions& cascade);

/// What a fit wrote beside its cascade; an empty object where there is nothing.
nlohmann::json record_of(const CascadeOptions& cascade);
/// Dollars of judging a call, as the fit counted them; none where nobody said.
std::optional<double> counted_judge_usd(const nlohmann::json& record);

}  // namespace pandora
