// The tables of a study: the paper's Tables 1 to 3, hyperparameters that were chosen, one table over all settings where
// keys vary, and an overview in few rows.
#pragma once

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
  compact,  ///< one row header
  paper     ///< the layout of the paper's Tables 1 and 2: groups of rows, full names
};

/// All tables. Where the study is the paper's, published values stand in parentheses beside ours. The least mean regret of a column is bold, apart for policies that see mu* and that do not. `---` stands
/// where nothing is known: no such lane, or all of its lanes failed.
std::vector<Table> study_tables(const std::vector<SettingSummary>& settings, TableLayout layout);

/// Table 3, (tab:ordering), alone.
Table order_table(const std::vector<OrderRow>& rows, int replications, int contexts, TableLayout layout);

/// "1.23±0.45", without ± where the half-width is unknown or zero, "---" where the mean is unknown.
std::string plus_minus(const Estimate& e, int decimals = 2);

/// The row with the best hyperparameters, or null.
const SummaryRow* best_row(const Summary& summary, const std::string& policy, const std::string& reward, int T0,
                           const std::string& regime, const std::string& environment);

// In other_tables.cpp:

/// Of a table of outcomes: utility, quality, dollars, calls and gap of every policy at its best
/// hyperparameters, with intervals over prompts. The setting's study is of a table alone.
Table trace_table(const SettingSummary& summary);

/// The policy that others are compared with where none is named: the first that the study lists and that is no
/// yardstick; where it lists none, dow. Empty if there is no policy.
std::string usual_base(const SettingSummary& settings);

/// A row per setting, regime, policy and reward setting: means over the cells (environment, T_0) in which the policy
/// has a row, with the least and the greatest; parts of the regret (RegretParts); ratios to the regret of `base` in the
/// same cell and reward setting, ours and the published one. Hyperparameters are those with the least mean regret.
/// `---` where there is no such row. Without `base` (empty) no ratios.
Table overview_table(const std::vector<SettingSummary>& settings, const std::string& base);

// What stands around tables, in table_texts.cpp:

/// A row of the regret tables.
struct PolicyTitle {
  std::string policy, reward;
  std::string name;           ///< as in the paper, such as "Online Plug-in Weitzman"
  std::string brief;          ///< with the reward setting, such as "Online plug-in, unknown"
  std::string group;          ///< of rows in the paper's tables, such as "Reward known"
  bool knows_reward = false;  ///< whether it sees mu*: with whom its regret compares
  bool yardstick = false;     ///< competes with nobody
};

/// The paper's rows in their order, what the paper does not print, the library's further policies, then those that a
/// program registered, this one or the one that made the results.
std::vector<PolicyTitle> policy_titles(const Summary& summary);

/// Such as "Truncated Gaussian"; another environment's own name.
std::string environment_title(const std::string& name);

/// The note below a table of these rows if the mean regret of one is negative beyond its 95% interval, Student's where
/// replications are few; else empty. Yardsticks, which know what no policy can, do not count.
std::string benchmark_note(std::span<const SummaryRow> rows);

/// How many of these rows spent more than the budget, one for each row; empty where none has one. Yardsticks do not count.
std::string budget_note(std::span<const SummaryRow> rows, std::span<const Pacing> budgets);

/// In table_notes.cpp: adds both of the rows that tables of these settings show, those with the best hyperparameters; and
/// what the tables show where utilities are negative, T_0 exceeds the horizon, or there is one box or one replication.
void add_notes_on_rows(std::span<const SettingSummary> settings, std::vector<std::string>& notes);

/// Whether a row is that of a policy that could be run: neither a yardstick nor told what an evaluator does not show.
bool competes(const SummaryRow& row);

class EdgeNote {
 public:
  /// What a policy of that title chose among what was tried, as NAME=VALUE;NAME=VALUE. An end is a number with others
  /// on one side only, but for a least one of 0, beyond which a width or a probability does not go.
  void see(const std::string& title, const std::string& chosen, const std::vector<std::string>& tried);
  /// All best rows of a setting.
  void see(const Summary& summary);

  /// One line, each end of each policy once; nothing if there are none.
  void add_to(std::vector<std::string>& notes) const;

 private:
  using Ends = std::pair<std::string, std::vector<std::string>>;
  std::vector<Ends> ends_;  // by title
};

}  // namespace pandora
