// What tables show, in words below them.
#pragma once

#include "host/studies/results/summary.hpp"

namespace pandora {

/// The note below a table of these rows if the mean regret of one is negative beyond its 95% interval, Student's where
/// replications are few; else empty. Yardsticks, which know what no policy can, do not count.
std::string benchmark_note(std::span<const SummaryRow> rows);

/// How many of these rows spent more than the budget, one for each row; empty where none has one. Yardsticks do not count.
std::string budget_note(std::span<const SummaryRow> rows, std::span<const Pacing> budgets);

/// Adds both of the rows that tables of these settings show, those with the best hyperparameters; and
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
