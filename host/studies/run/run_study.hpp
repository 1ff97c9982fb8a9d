// A study from its configuration to its folder of results: what is missing is run, what is there is kept.
#pragma once

#include "host/ground/machine/ranks.hpp"
#include "host/studies/run/run_options.hpp"

namespace pandora {

/// Runs what is missing of this process's share. When all parts are there, writes the final files. Throws Error:
/// interrupted (what was finished is on disk), output_lost, mismatch, usage, device.
RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks);

}  // namespace pandora
