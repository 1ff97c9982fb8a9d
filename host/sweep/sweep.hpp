// Runs a plan on all cores and keeps what the tables need.
#pragma once

#include <vector>

#include "host/study/study.hpp"
#include "host/sweep/unit_result.hpp"

namespace pandora {

/// Runs the plan's units and hands each one's result to `sink` as it is complete. The bytes do not depend on the number
/// of threads, on the chunk, on the number of devices of one kind, or on which other units the plan has.
void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink);

/// All results, in the plan's unit order.
std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options);

}  // namespace pandora
