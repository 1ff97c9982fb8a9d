// Provenance: what program made results, and of which study.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/study_config.hpp"

namespace pandora {

/// Version, source revision, compiler and flags of this build, one per line.
std::string build_text();

/// What of the build numbers depend on, by name: version, digest of the sources, compiler, flags, instruction set.
std::map<std::string, std::string> build_identity();

/// The whole build as an object.
nlohmann::json program_json();

/// Every key of the study with its value, tables as objects.
nlohmann::json study_json(const StudyConfig& config);

/// The current time in UTC, ISO 8601.
std::string utc_now();

}  // namespace pandora
