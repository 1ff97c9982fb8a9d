// The tables of a study: the paper's Tables 1 to 3, hyperparameters that were chosen, one table over all settings where
// keys vary.
#pragma once

#include "host/ground/tables/table.hpp"
#include "host/studies/results/summary.hpp"

namespace pandora {

enum class TableLayout {
  compact,  ///< one row header
  paper     ///< the layout of the paper's Tables 1 and 2: groups of rows, full names
};

/// All tables. Where the study is the paper's, published values stand in parentheses beside ours. The least mean regret of
/// a column is bold, apart for policies that see mu* and that do not. `---` stands where nothing is known: no such lane,
/// or all of its lanes failed.
std::vector<Table> study_tables(const std::vector<SettingSummary>& settings, TableLayout layout);

/// Table 3, (tab:ordering), alone.
Table order_table(const std::vector<OrderRow>& rows, int replications, int contexts, TableLayout layout);

}  // namespace pandora
