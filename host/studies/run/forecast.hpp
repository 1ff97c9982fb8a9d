// What a study will need, before it runs.
#pragma once

#include "host/studies/results/parts.hpp"
#include "host/studies/run/trial.hpp"

namespace pandora {

/// One for each setting.
std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings);

/// Which budgets of cost nothing can keep, by estimates from a few replications; empty if none is so.
std::string unkept_budgets(const std::vector<PlannedSetting>& settings);

struct Forecast {
  std::size_t units = 0, lanes = 0;  ///< replications over all (environment, regime); lanes over all units
  double policy_periods = 0.0;
  std::uint64_t bytes = 0;  ///< peak of a process on the CPU: of a sweep with the results of a part that is not
                            ///< complete yet, or of tables and results.h5 while they are made
  double seconds = 0.0, processor_seconds = 0.0;  ///< calibrations too; wall time is that of one process alone here
  bool rough = false;                             ///< the trial was smaller than the study in more than its horizon
  TrialSize trial;
};

/// Runs a trial (trial.hpp): a few seconds, however large the study is and however many settings it has.
Forecast forecast(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps, int threads);

/// The forecast with how `processes` (shards and ranks) share the parts that are to be done.
std::string forecast_text(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps,
                          const std::vector<Part>& parts, int threads, int processes);

/// What the sweeps need on a GPU of that memory (GiB), whether there is one here or not: how replications are put together,
/// memory there and here, and a time that is a model. Throws Error (usage) for a study that runs on the CPU alone.
std::string device_forecast_text(const std::vector<PlannedSweep>& sweeps, double memory);

}  // namespace pandora
