// A lane's rules and how it estimates, as JSON that files of cascades have.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernels/random/philox.hpp"
#include "kernels/rules/estimation.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// What a learning lane's rules are (no fixed order, no thresholds).
nlohmann::json rules_json(const LaneSpec& rules);
/// Throws Damaged (host/ground/files/sealed_file.hpp) where a member is missing or out of range.
LaneSpec rules_of(const nlohmann::json& json);

/// Schedule, ridges and what is forgotten.
nlohmann::json estimation_json(const EstimationOptions& options);
EstimationOptions estimation_of(const nlohmann::json& json);

Stream stream_of(const nlohmann::json& json, Purpose purpose);

}  // namespace pandora
