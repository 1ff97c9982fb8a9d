// What a report says of a study's results, as numbers and plain tables. Python makes the report of them: which figures there are,
// their captions, the page, LaTeX (python/src/pandora/rendering).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/studies/results/stored_results.hpp"

namespace pandora {

struct ReportOptions {
  /// Of which tables, comparisons and figures are, NAME or NAME/REWARD; empty: all, and all but yardsticks are compared.
  std::vector<std::string> policies = {};
  std::string base = {};    ///< empty: the first of `policies`, else usual_base()
  bool differences = true;  ///< whether policies are compared
};

/// What numbers.json has beside its generator: of the study and its settings; of each (setting, environment, regime) the
/// columns of its CSV files in full precision, and slopes of cumulative regret; the columns of comparisons; the tables. Throws
/// Error (usage) for a policy that the results have not, Error (bad_data) where none has a replication.
nlohmann::json report_numbers(StoredResults& results, const ReportOptions& options);

}  // namespace pandora
