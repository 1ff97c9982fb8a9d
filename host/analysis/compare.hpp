// Whether one policy beats another, and by how much.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/analysis/statistics.hpp"
#include "host/results/stored_results.hpp"
#include "host/tables/table.hpp"

namespace pandora {

struct CompareOptions {
  std::vector<std::string> policies;  ///< NAME or NAME/REWARD; the first is compared with each of the others
  std::vector<int> T0;                ///< empty: all of the study
  std::vector<std::string> environments, regimes;  ///< empty: all
};

/// Policies of one folder, paired over the replications of each cell: a table for each pair, Holm's adjustment over all
/// rows. Throws Error (usage) for names that the results have not.
std::vector<Table> compare_policies(StoredResults& results, const CompareOptions& options);

/// The same policies of two folders on the same tapes, such as two schedules or two engines. Without policies: all that
/// both have. Throws Error (mismatch) if they do not share tapes.
std::vector<Table> compare_folders(StoredResults& first, StoredResults& second, const CompareOptions& options);

/// Against the paper's Tables 1 and 2: not paired, differences in standard errors. Throws Error (usage) if the study
/// has no published values.
Table compare_published(StoredResults& results, const CompareOptions& options);

/// One line for each name on which the manifests differ.
std::vector<std::string> manifest_differences(const StoredResults& first, const StoredResults& second);

}  // namespace pandora
