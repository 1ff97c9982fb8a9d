// What engines are given and what they give back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/rules/refit_schedule.hpp"
#include "kernels/rules/spec.hpp"
#include "kernels/rules/tally.hpp"
#include "pandora/replication.hpp"

namespace pandora {

struct EstimationOptions {
  RefitSchedule refit;
  double ridge_index = 1.0;   ///< eta_1 of (eq:known-theta-V) and of the loss's ridge term
  double ridge_reward = 1.0;  ///< eta_0 of (eq:hat:theta:def)
};

struct BlockOptions {
  EstimationOptions estimation;
  int block = 32;  ///< B, at least 1
};

/// For comparisons of engines and backends: what happened in a lane's periods, and decisions to follow instead of the
/// lane's own.
struct LaneRecord {
  const std::vector<PeriodOutcome>* decisions = nullptr;  ///< T outcomes, or none
  std::vector<PeriodOutcome> outcomes;                    ///< T; those of the periods before a failure count
  std::vector<double> scores;                             ///< T x A, before each period's walk
  std::vector<double> widths;                             ///< T x A: ||psi||_{V^-1}, zero where none is kept
};

/// Counts of events worth knowing after a run.
struct EngineCounters {
  std::uint64_t index_solves = 0, index_gradients = 0, reward_solves = 0;
  std::uint64_t repairs = 0;  ///< inverses rebuilt because a width left its bounds
};

/// A replication and its lanes.
struct UnitOfLanes {
  const Replication* replication;
  std::vector<LaneSpec> lanes;
};

}  // namespace pandora
