// A policy is a name and the lanes that it puts into a sweep. To add one: write a file like dow.cpp beside this one
// and add its name to the list in registry.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/reference_engine.hpp"

namespace pandora {

/// One row of the results: a policy in one information setting with one hyperparameter.
struct PolicyVariant {
  std::string reward;          ///< "known", "unknown" or "none" (the policy uses no reward evaluator)
  std::string hyperparameter;  ///< such as "c_rho=0.1;c_theta=1"; empty if there is none
  /// The lane for a replication and T_0. May look at the calibration rows 1..T_0 of the tape; only a yardstick in
  /// hindsight (best_single) may look at the online rows.
  std::function<LaneSpec(const Replication&, int T0)> lane;
};

struct Policy {
  std::string name;
  std::string summary;
  bool needs_calibration = false;  ///< not applicable at T_0 = 0
  bool uses_calibration = true;    ///< false: the lane is the same for all T_0 and is simulated once
  /// The variants over the grid of hyperparameters {c_rho, c_theta, c_b}.
  std::function<std::vector<PolicyVariant>(const std::vector<double>& grid)> variants;
};

/// All policies, in the order of the tables.
const std::vector<Policy>& all_policies();

/// The policy of that name, or nullptr.
const Policy* find_policy(const std::string& name);

}  // namespace pandora
