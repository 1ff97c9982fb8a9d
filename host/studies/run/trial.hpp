// A trial of a sweep: measures the time of a few of its replications over a short horizon, and extrapolates it to the
// whole horizon.
#pragma once

#include <span>
#include <vector>

#include "host/studies/run/planned_memory.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// The extent of a trial, for messages.
struct TrialSize {
  std::size_t lanes = 0, units = 0;
  int periods = 0;       ///< the longest horizon
  double seconds = 0.0;  ///< wall time
};

/// Processor seconds measured up to a horizon.
struct TrialPoint {
  double horizon = 0.0, seconds = 0.0;
};

/// Processor seconds up to `horizon`, given points of growing horizons, at least one. Beyond the last point, time grows
/// as a power of the horizon, which three points determine: 1 if solves come at geometrically growing numbers of
/// samples, 2 if they come every period. Two points give a line; with one point, time is proportional to the horizon.
double extrapolated(std::span<const TrialPoint> points, double horizon);

/// Processor seconds for one unit of a sweep.
struct UnitTime {
  double preparing = 0.0, playing = 0.0;
  double storing = 0.0;    ///< writing to its part, and reading that for the tables; by one thread
  std::size_t chunks = 1;  ///< the pieces in which threads share the playing
  bool rough = false;      ///< the trial was smaller than the study in more than its horizon
};

/// Wall seconds for `units` such units on `threads` threads that get `cores` cores.
double wall_seconds(const UnitTime& unit, std::size_t units, int threads, double cores);

/// Plays for about that many processor seconds on each thread. There are no more threads than cores; they run side by
/// side.
UnitTime time_of_unit(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, int threads, double seconds,
                      TrialSize& size);

}  // namespace pandora
