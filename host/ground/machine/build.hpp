// Provenance: which build of the program this is.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pandora {

/// Version, source revision, compiler and flags of this build, one per line.
std::string build_text();

/// The properties of the build on which numbers depend, by name: version, digest of the sources, compiler, flags,
/// instruction set.
std::map<std::string, std::string> build_identity();

/// All facts about the build as a JSON object.
nlohmann::json program_json();

}  // namespace pandora
