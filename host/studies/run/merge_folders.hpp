// Shards put together.
#pragma once

#include "host/studies/run/run_study.hpp"

namespace pandora {

/// Puts the parts of several folders of one study together. Throws Error (mismatch) if they are
/// not of one study, build and arithmetic, Error (bad_data) naming what is missing.
RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options);

}  // namespace pandora
