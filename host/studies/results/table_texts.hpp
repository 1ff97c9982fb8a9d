// How policies and environments are called in tables and figures; and notes below tables: what a negative regret says,
// and where the best hyperparameter is the least or the greatest of those that were tried.
#pragma once

#include <utility>

#include "host/studies/results/summary.hpp"

namespace pandora {

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

/// The rows that a study's tables show: those with the best hyperparameters.
std::vector<SummaryRow> best_rows(const Summary& summary);

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
