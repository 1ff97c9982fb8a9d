// What remains of a lane: sums over its online periods, in double, and how it ended if it was stopped.
#pragma once

#include "kernels/base/failure.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "kernels/rules/regret.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// What a period's queries cost.
PANDORA_HD inline double spent_on(const PeriodOutcome& outcome, const double* cost) {
  double spent = 0.0;
  for (int k = 0; k < outcome.queried; ++k) spent += cost[outcome.order[k]];
  return spent;
}

/// All zeros before start(), which is how a device hands it out, and where no lane was run.
struct LaneTally {
  int periods = 0;       ///< completed; the learning after the last of them may be what failed
  double utility = 0.0;  ///< sum of mu*(deployed) - costs of the queried boxes
  double utility_squares = 0.0;
  double realised_utility = 0.0;  ///< the same with the Bernoulli reward of the deployed box
  // The two sides of utility = quality - cost, apart.
  double quality = 0.0;           ///< sum of mu*(deployed)
  double realised_quality = 0.0;  ///< sum of the Bernoulli rewards of the deployed boxes
  double cost = 0.0;              ///< sum of the costs of the queried boxes
  double queries_of_box[kMaxBoxes] = {};
  double deployments_of_box[kMaxBoxes] = {};
  double depth[kMaxBoxes + 1] = {};  ///< depth[k]: periods that opened k boxes
  int horizon = 0;                   ///< T
  int next = 0;                      ///< the next checkpoint, 0 after the last
  int recorded = 0;
  double curve[kMostCheckpoints] = {};         ///< curve[k], k < recorded: `utility` at the k-th of checkpoints(T)
  RegretParts regret;                          ///< sums over the periods
  RegretParts regret_curve[kMostCheckpoints];  ///< as `curve`
  Failure failure = Failure::none;
  int failed_period = 0;  ///< online period (1..T) in which it failed, 0: while calibrating

  friend bool operator==(const LaneTally&, const LaneTally&) = default;

  /// Whether the lane was run at all.
  bool ran() const { return horizon > 0; }

  double queries() const {
    double sum = 0.0;
    for (double q : queries_of_box) sum += q;
    return sum;
  }

  /// Before the first period, of T.
  PANDORA_HD void start(int T) {
    horizon = T;
    next = next_checkpoint(0, T);
  }

  /// The parts of the period that add() is about to count.
  template <int kMost = kMaxBoxes>
  PANDORA_HD void split_regret(const PeriodOutcome& outcome, int boxes, const double* mu, const double* costs,
                               const double* sigma) {
    regret.add(regret_parts<kMost>(outcome, boxes, mu, costs, sigma));
  }

  /// The period's mu*, costs and rewards of all boxes.
  PANDORA_HD void add(const PeriodOutcome& outcome, const double* mu, const double* costs, const std::uint8_t* reward) {
    const double spent = spent_on(outcome, costs);
    for (int k = 0; k < outcome.queried; ++k) queries_of_box[outcome.order[k]] += 1.0;
    const double gained = mu[outcome.deployed] - spent;
    ++periods;
    utility += gained;
    utility_squares += gained * gained;
    realised_utility += reward[outcome.deployed] - spent;
    quality += mu[outcome.deployed];
    realised_quality += reward[outcome.deployed];
    cost += spent;
    deployments_of_box[outcome.deployed] += 1.0;
    depth[outcome.queried] += 1.0;
    if (periods != next) return;
    regret_curve[recorded] = regret;
    curve[recorded++] = utility;
    next = next_checkpoint(periods, horizon);
  }

  PANDORA_HD void fail(Failure what, int period) {
    failure = what;
    failed_period = period;
  }
};

}  // namespace pandora
