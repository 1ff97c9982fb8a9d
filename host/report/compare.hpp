// Compares policies: whether one is better than another, and by how much.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/ground/statistics/resampling.hpp"
#include "host/ground/statistics/statistics.hpp"
#include "host/ground/tables/columns.hpp"
#include "host/studies/results/stored_results.hpp"

namespace pandora {

struct CompareOptions {
  std::vector<std::string> policies = {};  ///< NAME or NAME/REWARD; the first is compared with each of the others
  std::vector<int> T0 = {};                ///< empty: all of the study
  std::vector<std::string> environments = {}, regimes = {};  ///< empty: all
};

/// One policy in one cell: regrets x 1000 in the replications that count for both sides.
struct ComparedSide {
  std::size_t choices = 0;   ///< hyperparameters to choose from
  std::vector<double> best;  ///< regrets with the hyperparameters that have the least mean
  double mean = 0.0;         ///< that mean
  SumsByPrompt by_prompt;    ///< for its utility, in a table of outcomes; otherwise empty
  CrossFit fit;
};

struct ComparedRow {
  std::string setting, environment, regime;
  std::optional<int> T0;  ///< none: both policies ignore the calibration
  int replications = 0;   ///< R; paired.n of them count
  ComparedSide a, b;
  PairedDifference paired = {};  ///< for the best hyperparameters
  /// The same difference with an interval over prompts, in a table of outcomes if no lane failed.
  std::optional<Estimate> over_prompts = {};
  AsymmetricInterval bootstrap = {};  ///< for the same difference, over replications

  /// Whether there are hyperparameters to choose from.
  bool chooses() const { return a.choices > 1 || b.choices > 1; }
  /// Whether some of the study's replications do not count.
  bool partial() const { return paired.n < static_cast<std::size_t>(replications); }
};

struct ComparedPair {
  std::string a, b;
  std::vector<ComparedRow> rows;
};

/// A table for each pair, with p values adjusted by Holm's method over all rows of all pairs.
std::vector<Table> comparison_tables(const std::vector<ComparedPair>& pairs);

/// All rows for CSV and data frames, with every quantity in a column of its own.
Columns comparison_columns(const std::vector<ComparedPair>& pairs);

/// Compares policies of one folder, paired over the replications of each cell. Throws Error (usage) for names that the
/// results do not have, and Error (bad_data) if no replication counts anywhere.
std::vector<ComparedPair> compare_policies(StoredResults& results, const CompareOptions& options);

/// Compares the same policies of two folders on the same tapes, such as two schedules or two engines. Without policies,
/// compares all that both have. Throws Error (mismatch) if they do not share tapes.
std::vector<ComparedPair> compare_folders(StoredResults& first, StoredResults& second, const CompareOptions& options);

/// One line for each name whose values differ between the manifests.
std::vector<std::string> manifest_differences(const StoredResults& first, const StoredResults& second);

}  // namespace pandora
