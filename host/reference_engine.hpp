// The straightforward engine: one lane, one period after the other, in double. Every faster path is compared with it.
#pragma once

#include <functional>
#include <vector>

#include "kernels/lane.hpp"
#include "kernels/refit_schedule.hpp"
#include "kernels/tally.hpp"
#include "kernels/tape.hpp"

namespace pandora {

/// One draw of all fixed parameters with everything its lanes share.
struct Replication {
  Instance instance;
  Tape tape;
  std::vector<double> sigma;  ///< oracle indices, rows of the tape x A
};

struct EstimationOptions {
  RefitSchedule refit;
  double ridge_index = 1.0;   ///< eta_1 of (eq:known-theta-V) and of the loss's ridge term
  double ridge_reward = 1.0;  ///< eta_0 of (eq:hat:theta:def)
};

/// What an observer of a lane sees after each online period (for tests and comparisons of engines).
struct PeriodView {
  int period = 0;                 ///< 0 .. T-1
  const double* score = nullptr;  ///< A scores before the walk
  const double* width = nullptr;  ///< A widths ||psi||_{V^-1}; zero where none is kept
  const PeriodOutcome* outcome = nullptr;
};
using PeriodObserver = std::function<void(const PeriodView&)>;

/// Calibrates on the lane's T_0 periods (or x_0) and runs it over the online periods of the tape. A lane that fails
/// stops there; its tally says why.
LaneTally run_reference_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                             const PeriodObserver& observer = {});

}  // namespace pandora
