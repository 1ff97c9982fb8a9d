// What policies and environments are called in tables and figures.
#pragma once

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

}  // namespace pandora
