// Provenance: what program this is.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pandora {

/// Version, source revision, compiler and flags of this build, one per line.
std::string build_text();

/// What of the build numbers depend on, by name: version, digest of the sources, compiler, flags, instruction set.
std::map<std::string, std::string> build_identity();

/// The whole build as an object.
nlohmann::json program_json();

}  // namespace pandora
