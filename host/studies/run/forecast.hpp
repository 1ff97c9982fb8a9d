// What a study will need, before it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/studies/results/parts.hpp"
#include "host/studies/run/planned_memory.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// A sweep that is to be run for a setting: all of it, or what a folder lacks.
struct PlannedSweep {
  const PlannedSetting* setting;
  Study study;
  Plan plan;
};

/// One for each setting.
std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings);

struct Forecast {
  std::size_t units = 0, lanes = 0;  ///< replications over all (environment, regime); lanes over all units
  double policy_periods = 0.0;
  std::uint64_t bytes = 0;  ///< peak of a process on the CPU: of a sweep with the results of a part that is not
                            ///< complete yet, or of tables and results.h5 while they are made
  double seconds = 0.0;     ///< wall time, calibrations too, extrapolated from probes of a few thousand periods
  bool rough = false;       ///< the probes were smaller than the study in other ways, too
};

/// Runs probes: a few seconds, however large the study is and however many settings it has.
Forecast forecast(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps, int threads);

/// The forecast with how `processes` (shards and ranks) share the parts that are to be done.
std::string forecast_text(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps,
                          const std::vector<Part>& parts, int threads, int processes);

}  // namespace pandora
