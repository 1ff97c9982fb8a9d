// Merges the folders of shards.
#pragma once

#include "host/studies/run/run_study.hpp"

namespace pandora {

/// Merges the parts of several folders of one study. Throws Error (mismatch) if they do not belong to one study, build
/// and arithmetic, and Error (bad_data) with the missing parts.
RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options);

}  // namespace pandora
