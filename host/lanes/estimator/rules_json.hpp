// A lane's rules and its settings of estimation as JSON, as files of cascades store them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernels/random/philox.hpp"
#include "kernels/rules/estimation.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// The rules of a learning lane (without a fixed order or thresholds).
nlohmann::json rules_json(const LaneSpec& rules);
/// Throws Damaged (host/ground/files/sealed_file.hpp) if a member is missing or out of range.
LaneSpec rules_of(const nlohmann::json& json);

/// Schedule, ridges and forgetting.
nlohmann::json estimation_json(const EstimationOptions& options);
EstimationOptions estimation_of(const nlohmann::json& json);

Stream stream_of(const nlohmann::json& json, Purpose purpose);

}  // namespace pandora
