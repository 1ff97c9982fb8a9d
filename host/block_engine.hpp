// The fast engine: lanes of a replication advance through blocks of B periods in lockstep. Rank-one updates become
// matrix products (kernels/gram_block.hpp); estimates are solved by quasi-Newton passes over the shared contexts.
//
// The algebra is that of the reference engine; Real = float is the working precision, Real = double serves the
// comparison with the reference.
#pragma once

#include <span>
#include <vector>

#include "host/reference_engine.hpp"

namespace pandora {

struct BlockOptions {
  EstimationOptions estimation;
  int block = 32;  ///< B, at least 1
};

/// For comparisons: what happened in a lane's periods, and decisions to follow instead of the lane's own.
struct LaneReplay {
  PeriodObserver observer;
  const std::vector<PeriodOutcome>* decisions = nullptr;  ///< T outcomes, or none
};

/// Counts of events worth knowing after a run.
struct EngineCounters {
  std::uint64_t index_solves = 0, index_gradients = 0, reward_solves = 0;
  std::uint64_t refactorisations = 0;  ///< design matrices rebuilt because a width left its bounds
};

/// Runs all lanes on the replication, one block after the other; a lane's tally does not depend on the others. A lane
/// that fails stops there; its tally says why.
/// `replays` is empty or has one entry per lane.
template <class Real>
std::vector<LaneTally> run_block_lanes(const Replication& replication, std::span<const LaneSpec> lanes,
                                       const BlockOptions& options, EngineCounters* counters = nullptr,
                                       std::span<const LaneReplay> replays = {});

}  // namespace pandora
