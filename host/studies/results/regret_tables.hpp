// The tables of a study: the paper's Tables 1 to 3, hyperparameters that were chosen, and one table over all settings
// where keys vary.
#pragma once

#include <vector>

#include "host/ground/tables/table.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// A setting of a study with what is known of it so far.
struct SettingSummary {
  Setting setting;
  Summary summary;
};

enum class TableLayout {
  compact,  ///< one row header, published values in parentheses beside ours where the study is the paper's
  paper     ///< the layout of the paper's Tables 1 and 2: groups of rows, full names, our values alone
};

/// All tables. The least mean regret of a column is bold, apart for policies that see mu* and that do not. `---` stands
/// where nothing is known: no such lane, or all of its lanes failed.
std::vector<Table> study_tables(const std::vector<SettingSummary>& settings, TableLayout layout);

/// Table 3, (tab:ordering), alone.
Table order_table(const std::vector<OrderRow>& rows, int replications, int contexts, TableLayout layout);

/// "1.23±0.45", without ± where the half-width is unknown or zero, "---" where the mean is unknown.
std::string plus_minus(const Estimate& e, int decimals = 2);

}  // namespace pandora
