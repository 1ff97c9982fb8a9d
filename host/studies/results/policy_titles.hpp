// The names of policies and environments in tables and figures.
#pragma once

#include "host/studies/results/summary.hpp"

namespace pandora {

/// A row of the regret tables.
struct PolicyTitle {
  std::string policy, reward;
  std::string name;           ///< as in the paper, such as "Online Plug-in Weitzman"
  std::string brief;          ///< with the reward setting, such as "Online plug-in, unknown"
  std::string group;          ///< for rows in the paper's tables, such as "Reward known"
  bool knows_reward = false;  ///< whether it sees mu*; its regret is compared with that of others that do
  bool yardstick = false;     ///< does not compete
};

/// The paper's rows in their order, then those that the paper does not print, the library's further policies, and those
/// that a program registered: this program or the one that made the results.
std::vector<PolicyTitle> policy_titles(const Summary& summary);

/// A title such as "Truncated Gaussian"; for other environments their own name.
std::string environment_title(const std::string& name);

}  // namespace pandora
