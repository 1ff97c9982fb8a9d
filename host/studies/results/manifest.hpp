// What a manifest says of a study and when, and its text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/studies/study/study_config.hpp"

namespace pandora {

/// Every key of the study with its value, tables as objects.
nlohmann::json study_json(const StudyConfig& config);

/// A manifest as the text of its file, with its checksum.
std::string manifest_text(nlohmann::json manifest);

/// The content of a manifest.json. Throws Damaged if it is not exactly what manifest_text() gives; any text is safe.
nlohmann::json parse_manifest(const std::string& text);

/// The current time in UTC, ISO 8601.
std::string utc_now();

}  // namespace pandora
