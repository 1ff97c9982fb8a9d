// What a manifest says of a study, and when.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/study/study_config.hpp"

namespace pandora {

/// Every key of the study with its value, tables as objects.
nlohmann::json study_json(const StudyConfig& config);

/// The current time in UTC, ISO 8601.
std::string utc_now();

}  // namespace pandora
