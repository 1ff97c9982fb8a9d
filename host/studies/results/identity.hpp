// The identity of results: everything on which they depend. Two sets of results belong together only if it all agrees.
// Also the manifest, which states it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/studies/study/study_config.hpp"

namespace pandora {

/// Names such as "study.replications", "build.flags", "numerics.fingerprint", and values.
using Identity = std::map<std::string, std::string>;

/// The arithmetic with which results were made.
struct Numerics {
  std::string backend;      ///< "cpu" or the name of another backend
  std::string hardware;     ///< the kinds of its devices
  std::string fingerprint;  ///< fingerprint_of (host/studies/sweep/sweep.hpp)
};

/// The identity has three groups of names. study.*: every key on which numbers depend. build.*: version, digest of the
/// sources, compiler, flags and instruction set. If policies or environments were registered, also a digest of the
/// program, or, for those of the study that have a code (Policy::code), that code as build.policy.NAME or
/// build.environment.NAME. numerics.*: backend, names of devices, and a fingerprint of the arithmetic: a digest of the
/// results of a small sweep on this machine.
Identity identity_of(const StudyConfig& config, const std::vector<Setting>& settings, const Numerics& numerics);

/// The build.* names of this program.
Identity build_parts_of_identity();

/// The build.* names of results, without the codes of policies and environments that this program has with the same
/// code.
Identity build_of_results(const Identity& identity);

/// The part of the identity that does not say how much there is: without replications, policies, hyperparameters, T_0,
/// environments, regimes. Results may grow by these.
Identity fixed_part(const Identity& identity);

/// One line for each name on which the two differ, such as "study.replications is 2 there and 3 here"; empty if they
/// agree.
std::vector<std::string> differences(const Identity& there, const Identity& here);

/// The same for the fixed parts. A policy or environment that only one of them has is no difference.
std::vector<std::string> differences_of_fixed(const Identity& there, const Identity& here);

// What a manifest says about a study, and its text.

/// A manifest as the text of its file, with its checksum.
std::string manifest_text(nlohmann::json manifest);

/// The content of a manifest.json. Any text is safe; throws Damaged if it is not exactly what manifest_text() gives.
nlohmann::json parse_manifest(const std::string& text);

/// The identity under which a part or a manifest was written. Throws Damaged if there is none.
Identity identity_in(const nlohmann::json& content);

}  // namespace pandora
