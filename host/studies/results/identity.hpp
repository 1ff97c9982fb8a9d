// What results depend on: two sets of results belong together only if all of it agrees. And what a manifest says of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/studies/study/study_config.hpp"

namespace pandora {

/// Names such as "study.replications", "build.flags", "numerics.fingerprint", and values.
using Identity = std::map<std::string, std::string>;

/// What arithmetic results were made with.
struct Numerics {
  std::string backend;      ///< "cpu" or the name of another
  std::string hardware;     ///< the kinds of its devices
  std::string fingerprint;  ///< fingerprint_of (host/studies/sweep/sweep.hpp)
};

/// study.*: every key that numbers depend on. build.*: version, digest of the sources, compiler, flags, instruction
/// set, and, where policies or environments were registered, a digest of the program, or (build.policy.NAME,
/// build.environment.NAME) the code of those of the study that have one of their own (Policy::code). numerics.*:
/// backend, devices by name, and a fingerprint of the arithmetic: a digest of what a small sweep gives on this machine.
Identity identity_of(const StudyConfig& config, const std::vector<Setting>& settings, const Numerics& numerics);

/// The build.* of this program.
Identity build_parts_of_identity();

/// The build.* of results, without the codes of policies and environments that this program knows just so.
Identity build_of_results(const Identity& identity);

/// What numbers depend on, without how many there are: replications, policies, hyperparameters, T_0, environments,
/// regimes. Results may grow by those.
Identity fixed_part(const Identity& identity);

/// One line for each name on which they differ, such as "study.replications is 2 there and 3 here"; empty if they
/// agree.
std::vector<std::string> differences(const Identity& there, const Identity& here);

/// Likewise of the fixed parts, where policies and environments that one of them has not are no difference.
std::vector<std::string> differences_of_fixed(const Identity& there, const Identity& here);

// What a manifest says of a study, and its text.

/// A manifest as the text of its file, with its checksum.
std::string manifest_text(nlohmann::json manifest);

/// The content of a manifest.json. Throws Damaged if it is not exactly what manifest_text() gives; any text is safe.
nlohmann::json parse_manifest(const std::string& text);

/// The identity that a part or a manifest was written under. Throws Damaged if there is none.
Identity identity_in(const nlohmann::json& content);

}  // namespace pandora
