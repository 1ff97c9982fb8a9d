// Runs a plan on all cores and keeps the data for the tables.
#pragma once

#include <atomic>
#include <functional>

#include "host/lanes/devices/device.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

class OracleCache;

/// Takes the result of a unit of the plan. Workers call it, never two at once. An exception from it ends the sweep.
using UnitSink = std::function<void(std::size_t unit, UnitResult&& result)>;

struct SweepOptions {
  int threads = 0;    ///< 0: all cores
  DeviceSet devices;  ///< run the lanes; none: the CPU does
  /// Called by a worker, never by two at once, when lanes have finished: with the lanes done and the lanes in all.
  std::function<void(std::size_t done, std::size_t total)> progress;
  /// Read between chunks of lanes, and between the periods of lanes that are code. When it turns true the sweep stops
  /// and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
  /// Called by any worker for every replication that an environment's code drew.
  std::function<void(const Replication& drawn, const ReplicationRequest& asked)> drawn = {};
  OracleCache* oracle_cache = nullptr;  ///< for units prepared on the CPU
};

/// Throws Error (interrupted) if the flag is not null and set.
void end_if_interrupted(const std::atomic<bool>* flag);

/// Runs the plan's units and passes each one's result to `sink` when it is complete. The bytes depend neither on the
/// number of threads, nor on the chunk, the number of devices of one kind, or the plan's other units.
void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink);

/// A sweep to be run for a setting: all of it, or the part that a folder lacks.
struct PlannedSweep {
  const PlannedSetting* setting;
  Study study;
  Plan plan;
};

/// All results, in the plan's unit order.
std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options);

/// Identifies this machine's arithmetic: a digest of the results of small sweeps here, with 16 digits for every
/// different engine of the settings, in order, separated by spaces. It is the same on machines that compute alike.
std::string fingerprint_of(const std::vector<Setting>& settings, const DeviceSet& devices);

}  // namespace pandora
