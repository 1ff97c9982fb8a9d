// Finds u, the upper bound of the cost levels, for a wanted number of boxes that the oracle opens per period.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "host/studies/study/study.hpp"

namespace pandora {

struct CostSearch {
  Dimensions dimensions;
  std::vector<Regime> regimes = {Regime::A, Regime::B};  ///< pooled: the paper has one u for both
  double wanted_boxes = 1.5;
  int replications = 100;
  int contexts = 200;  ///< periods simulated per replication
  std::uint64_t seed = 1;
  OracleOptions oracle;
  int threads = 1;  ///< 0: all cores; the result does not depend on it
  /// Told how many of how many pieces of work are done, all of like size; by any thread, never by two at once.
  std::function<void(std::size_t done, std::size_t total)> progress;
  const std::atomic<bool>* interrupted = nullptr;  ///< polled; true ends the search with Error (interrupted)
};

struct CostSearchResult {
  double u = 0.0;              ///< boxes_per_period(u) = wanted_boxes to 1e-4 in u
  double boxes = 0.0;          ///< at u
  double half_width_95 = 0.0;  ///< of `boxes` over the replications
};

/// Throws Error (usage) if costs of the environment have no u to find.
void require_cost_level(const Environment& environment);

/// All values of u face the same draws, so the count is monotone in u up to changes of the order. Throws Error (usage)
/// if the wanted number is not reached for u in [0.001, 1], or as require_cost_level.
CostSearchResult calibrate_cost(const Environment& environment, const CostSearch& search);

}  // namespace pandora
