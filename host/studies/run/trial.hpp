// A trial of a sweep: what a few of its replications take here, played for a short horizon, and what the whole horizon
// takes by that.
#pragma once

#include <span>
#include <vector>

#include "host/studies/run/planned_memory.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// What a trial has played, for people.
struct TrialSize {
  std::size_t lanes = 0, units = 0;
  int periods = 0;       ///< the longest horizon
  double seconds = 0.0;  ///< wall time
};

/// Processor seconds that were measured up to a horizon.
struct TrialPoint {
  double horizon = 0.0, seconds = 0.0;
};

/// Processor seconds up to `horizon`, after points of growing horizons, at least one. Beyond the last point time grows by a
/// power of the horizon, which three points tell: 1 where a solve comes whenever there are so many times more samples,
/// 2 where it comes every period. Two points give a line, and one says that time is proportional to the horizon.
double extrapolated(std::span<const TrialPoint> points, double horizon);

/// Processor seconds of one unit of a sweep.
struct UnitTime {
  double preparing = 0.0, playing = 0.0;
  double storing = 0.0;    ///< into its part, and reading that back for the tables; one thread does it
  std::size_t chunks = 1;  ///< into which threads share the playing
  bool rough = false;      ///< the trial was smaller than the study in more than its horizon
};

/// Wall seconds of `units` such units on `threads` threads that get `cores` cores.
double wall_seconds(const UnitTime& unit, std::size_t units, int threads, double cores);

/// Plays for about so many processor seconds on each thread, with no more threads than cores, which are measured side by side.
UnitTime time_of_unit(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, int threads, double seconds,
                      TrialSize& size);

}  // namespace pandora
