// Notes in words below tables.
#pragma once

#include "host/studies/results/summary.hpp"

namespace pandora {

/// A note below a table of these rows if the mean regret of one is negative beyond its 95% interval, with Student's t
/// if there are few replications; otherwise empty. Yardsticks do not count, because they use values that no policy can
/// know.
std::string benchmark_note(std::span<const SummaryRow> rows);

/// How many of these rows spent more than the budget, one budget for each row; empty if none has one. Yardsticks do not
/// count.
std::string budget_note(std::span<const SummaryRow> rows, std::span<const Pacing> budgets);

/// Adds both notes for the rows that tables of these settings show, those with the best hyperparameters. Also adds
/// notes on negative utilities, on T_0 beyond the horizon, and on a single box or replication.
void add_notes_on_rows(std::span<const SettingSummary> settings, std::vector<std::string>& notes);

/// Whether a row belongs to a policy that could be used: neither a yardstick nor one that knows values which an
/// evaluator does not show.
bool competes(const SummaryRow& row);

class EdgeNote {
 public:
  /// Takes the values that a policy of that title chose among those that were tried, as NAME=VALUE;NAME=VALUE. A chosen
  /// value is at an end if all other numbers are on one side of it. A least value of 0 is no end, because a width or a
  /// probability cannot be smaller.
  void see(const std::string& title, const std::string& chosen, const std::vector<std::string>& tried);
  /// All best rows of a setting.
  void see(const Summary& summary);

  /// Adds one line with each such end of each policy once; nothing if there are none.
  void add_to(std::vector<std::string>& notes) const;

 private:
  using Ends = std::pair<std::string, std::vector<std::string>>;
  std::vector<Ends> ends_;  // by title
};

}  // namespace pandora
