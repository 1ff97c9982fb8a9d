// What a sweep will need, before it runs.
#pragma once

#include <cstdint>
#include <string>

#include "host/study/planned_setting.hpp"

namespace pandora {

struct Forecast {
  std::size_t units = 0, lanes = 0;  ///< replications over all (environment, regime); lanes over all units
  double policy_periods = 0.0;
  std::uint64_t bytes = 0;  ///< peak
  double seconds = 0.0;     ///< wall time, extrapolated from a probe of a few thousand periods
  bool rough = false;       ///< the probe was smaller than the study in other ways, too
};

/// Bytes that `threads` workers hold at the most while they prepare and run; no number of replications enters.
std::uint64_t sweep_bytes(const Study& study, const Plan& plan, int threads);

/// Bytes that a process on the CPU holds at the most: that with the results of a part that is not complete yet, or the
/// results of a whole (environment, regime) while tables and results.h5 are made of them.
std::uint64_t peak_bytes(const Study& study, const Plan& plan, int threads);

/// Runs the probe (seconds, however large the study is).
Forecast forecast(const Study& study, const Plan& plan, int threads);
/// Over all settings, and how `processes` (shards and ranks) share the parts.
std::string forecast_text(const std::vector<PlannedSetting>& settings, int threads, int processes);

}  // namespace pandora
