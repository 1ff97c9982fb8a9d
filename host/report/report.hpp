// The content of a report on a study's results, as numbers and plain tables. Python makes the report from it: which
// figures there are, their captions, the page, LaTeX (python/src/pandora/rendering).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/studies/results/stored_results.hpp"

namespace pandora {

struct ReportOptions {
  /// The policies in tables, comparisons and figures, NAME or NAME/REWARD. Empty: all, but comparisons leave out
  /// yardsticks.
  std::vector<std::string> policies = {};
  std::string base = {};    ///< empty: the first of `policies`, otherwise usual_base()
  bool differences = true;  ///< whether policies are compared
};

/// The content of numbers.json beside its generator: the study and its settings; for each (setting, environment,
/// regime) the columns of its CSV files in full precision, and slopes of cumulative regret; the columns of comparisons;
/// the tables. Throws Error (usage) for a policy that the results do not have, and Error (bad_data) if none has a
/// replication.
nlohmann::json report_numbers(StoredResults& results, const ReportOptions& options);

}  // namespace pandora
