// Regrets of single replications, cell by cell: what comparisons and figures are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/studies/results/stored_results.hpp"

namespace pandora {

/// One lane of the plan in all replications of a cell.
struct LaneSeries {
  std::size_t lane = 0;         ///< of the plan
  std::vector<double> utility;  ///< R: per period, x 1000; NaN where the lane was not run or failed
  SumsByPrompt by_prompt;       ///< of its utility, in a table of outcomes; else empty
};

/// One (setting, environment, regime).
struct CellSeries {
  std::size_t setting = 0;
  std::string regime;
  Environment environment;
  std::vector<LaneSeries> lanes;  ///< of the plan; 0 is the oracle's

  /// Regrets x 1000 of lane `lane` in the replications `which`.
  std::vector<double> regrets(std::size_t lane, const std::vector<std::size_t>& which) const;
};
std::vector<CellSeries> cell_series(StoredResults& results);

/// A policy with one way to evaluate rewards, and its k hyperparameters: lanes of the plan.
struct Contender {
  std::string policy, reward;
  std::vector<std::size_t> lanes;

  std::string name() const { return reward.empty() ? policy : policy + "/" + reward; }
};

/// The lanes of that policy and reward setting ("" : any) that serve T_0.
std::vector<Contender> contenders(const Plan& plan, int T0, const std::string& policy, const std::string& reward);

/// Replications in which the oracle and all given lanes count.
std::vector<std::size_t> common_replications(const CellSeries& cell, const std::vector<std::size_t>& lanes);

}  // namespace pandora
