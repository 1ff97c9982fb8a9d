// What a sweep takes and gives.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "host/model/order_frequencies.hpp"
#include "kernels/rules/tally.hpp"

namespace pandora {

class OracleCache;

/// Results of one unit, in the plan's lane order.
struct UnitResult {
  std::vector<LaneTally> lanes;      ///< empty if the study simulates no policies
  OrderFrequencies order;            ///< if the study asks for it
  std::optional<Instance> instance;  ///< likewise

  friend bool operator==(const UnitResult&, const UnitResult&) = default;
};

/// Takes the result of a unit of the plan. Called from a worker, never by two at once; what it throws ends the sweep.
using UnitSink = std::function<void(std::size_t unit, UnitResult&& result)>;

struct SweepOptions {
  int threads = 0;           ///< 0: all cores
  std::vector<int> devices;  ///< GPUs that run the lanes; none: the CPU does
  /// Called from a worker, never by two at once, when lanes have finished: lanes done and lanes in all.
  std::function<void(std::size_t done, std::size_t total)> progress;
  /// Polled between chunks of lanes; when it turns true the sweep stops and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
  OracleCache* oracle_cache = nullptr;  ///< for units prepared on the CPU
};

/// Throws Error (interrupted) if the flag is given and set.
void end_if_interrupted(const std::atomic<bool>* flag);

}  // namespace pandora
