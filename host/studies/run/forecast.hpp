// The time and memory that a study will need, before it runs.
#pragma once

#include "host/studies/results/parts.hpp"
#include "host/studies/run/trial.hpp"

namespace pandora {

/// One for each setting.
std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings);

/// Which budgets of cost cannot be kept by any policy, estimated from a few replications; empty if there are none.
std::string unkept_budgets(const std::vector<PlannedSetting>& settings);

/// Work, memory and time as text, with how `processes` (shards and ranks) share the parts that are to be done. Runs a
/// trial (trial.hpp), which takes a few seconds for any size of the study and any number of settings.
std::string forecast_text(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps,
                          const std::vector<Part>& parts, int threads, int processes);

/// What the sweeps need on a GPU with that memory (GiB), whether or not this machine has one: how replications are
/// grouped, the memory there and here, and a time from a model. Throws Error (usage) for a study that runs only on the
/// CPU.
std::string device_forecast_text(const std::vector<PlannedSweep>& sweeps, double memory);

}  // namespace pandora
