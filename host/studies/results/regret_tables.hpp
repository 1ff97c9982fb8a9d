// The tables of a study: the paper's Tables 1 to 3, the chosen hyperparameters, and one table over all settings if keys
// vary.
#pragma once

#include "host/ground/tables/table.hpp"
#include "host/studies/results/summary.hpp"

namespace pandora {

enum class TableLayout {
  compact,  ///< one row header
  paper     ///< the layout of the paper's Tables 1 and 2: groups of rows, full names
};

/// All tables. If the study is the paper's, published values stand in parentheses beside ours. The least mean regret of
/// a column is bold, separately for policies that see mu* and those that do not. `---` stands where nothing is known:
/// there is no such lane, or all of its lanes failed.
std::vector<Table> study_tables(const std::vector<SettingSummary>& settings, TableLayout layout);

/// Only Table 3, (tab:ordering). The keys of a setting begin its rows.
Table order_table(const std::vector<SettingSummary>& settings, TableLayout layout);

}  // namespace pandora
