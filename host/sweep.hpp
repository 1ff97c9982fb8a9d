// Runs a plan on all cores and keeps what the tables need.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "host/order_frequencies.hpp"
#include "host/study.hpp"

namespace pandora {

class OracleCache;

/// Results of one unit, in the plan's lane order.
struct UnitResult {
  std::vector<LaneTally> lanes;      ///< empty if the study simulates no policies
  OrderFrequencies order;             ///< if the study asks for it
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

/// Draws the instance, tape and oracle indices of a unit.
Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache = nullptr);

/// Lanes that an engine can run on a replication, and where in the plan they stand.
struct RunnableLanes {
  std::vector<LaneSpec> specs;
  std::vector<std::size_t> at;

  void place(const std::vector<LaneTally>& found, std::vector<LaneTally>& tallies) const {
    for (std::size_t k = 0; k < at.size(); ++k) tallies[at[k]] = found[k];
  }
};

/// Makes the specs of lanes first .. last of the plan; lanes that are code (PolicyVariant::own) are run to their end. A
/// lane whose policy throws, or makes a spec that cannot run (learned scores or rewards without learning, T_0 beyond
/// the calibration rows, a list that is empty or names a box twice or one that is not there), goes into `tallies` at
/// its place, failed in period 0. Throws what the policy throws if that is std::bad_alloc or an Error other than
/// LaneFailure.
RunnableLanes runnable_lanes(const Plan& plan, const Replication& replication, std::size_t first, std::size_t last,
                             std::vector<LaneTally>& tallies);

/// Runs lanes first .. last of the plan on the CPU into `tallies` at their places.
void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, std::vector<LaneTally>& tallies);

/// Why the study cannot run on a GPU; empty if it can.
std::string needs_cpu(const Study& study, const Plan& plan);

/// Runs the plan's units and hands each one's result to `sink` as it is complete. The bytes do not depend on the number
/// of threads, on the chunk, on the number of devices of one kind, or on which other units the plan has.
void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink);

/// All results, in the plan's unit order.
std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options);

}  // namespace pandora
