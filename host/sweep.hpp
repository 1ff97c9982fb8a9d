// Runs a plan on all cores and keeps what the tables need.
#pragma once

#include <atomic>
#include <functional>

#include "host/order_statistics.hpp"
#include "host/study.hpp"

namespace pandora {

/// Per-period means of one lane.
struct LaneResult {
  double utility = 0.0;           ///< with expected reward mu*
  double realised_utility = 0.0;  ///< with the Bernoulli reward
  double queries = 0.0;
};

/// Results of one unit, in the plan's lane order.
struct UnitResult {
  std::vector<LaneResult> lanes;
  OrderStatistics order;
};

struct SweepOptions {
  int threads = 0;           ///< 0: all cores
  std::vector<int> devices;  ///< GPUs that run the lanes; none: the CPU does
  /// Called from a worker, never by two at once, when lanes have finished: lanes done and lanes in all.
  std::function<void(std::size_t done, std::size_t total)> progress;
  /// Polled between chunks of lanes; when it turns true the sweep stops and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
};

LaneResult lane_result(const LaneTally& tally);

/// Throws Error (interrupted) if the flag is given and set.
void end_if_interrupted(const std::atomic<bool>* flag);

/// Draws the instance, tape and oracle indices of a unit.
Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderStatistics* order);

/// One result per unit, in the plan's unit order. The bytes do not depend on the number of threads, on the chunk, or on
/// the number of devices of one kind.
std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options);

}  // namespace pandora
