// Runs a plan on all cores and keeps what the tables need.
#pragma once

#include <atomic>
#include <functional>

#include "host/lanes/devices/device.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

class OracleCache;

/// Takes the result of a unit of the plan. Called from a worker, never by two at once; what it throws ends the sweep.
using UnitSink = std::function<void(std::size_t unit, UnitResult&& result)>;

struct SweepOptions {
  int threads = 0;    ///< 0: all cores
  DeviceSet devices;  ///< that run the lanes; none: the CPU does
  /// Called from a worker, never by two at once, when lanes have finished: lanes done and lanes in all.
  std::function<void(std::size_t done, std::size_t total)> progress;
  /// Polled between chunks of lanes, and between the periods of lanes that are code; when it turns true the sweep stops
  /// and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
  /// Told of every replication that an environment's code drew, by any worker.
  std::function<void(const Replication& drawn, const ReplicationRequest& asked)> drawn = {};
  OracleCache* oracle_cache = nullptr;  ///< for units prepared on the CPU
};

/// Throws Error (interrupted) if the flag is given and set.
void end_if_interrupted(const std::atomic<bool>* flag);

/// Runs the plan's units and hands each one's result to `sink` as it is complete. The bytes do not depend on the number
/// of threads, on the chunk, on the number of devices of one kind, or on which other units the plan has.
void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink);

/// A sweep that is to be run for a setting: all of it, or what a folder lacks.
struct PlannedSweep {
  const PlannedSetting* setting;
  Study study;
  Plan plan;
};

/// All results, in the plan's unit order.
std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options);

/// What this machine computes, told from what another one would: a digest of what small sweeps give here, 16 digits for
/// every different engine of the settings, in order, with spaces between. Machines that compute alike agree on it.
std::string fingerprint_of(const std::vector<Setting>& settings, const DeviceSet& devices);

}  // namespace pandora
