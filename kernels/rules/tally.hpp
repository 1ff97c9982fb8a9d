// What is kept of a lane: sums over its online periods, in double, and how it ended if it was stopped.
#pragma once

#include <cmath>

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

/// The greatest magnitude of a lane's sum, so that squares of such sums over all replications are still finite.
inline constexpr double kGreatestSum = 1e100;
inline bool is_sum(double value) {
  return std::abs(value) <= kGreatestSum;  // false for NaN
}

/// All zeros before start(): a device hands it out so, and it stays so where no lane was run.
struct LaneTally {
  int periods = 0;       ///< completed periods; a lane may fail in the learning after the last of them
  double utility = 0.0;  ///< sum of mu*(deployed) - costs of the queried boxes
  double utility_squares = 0.0;
  double realised_utility = 0.0;  ///< the same with the Bernoulli reward of the deployed box
  // Utility = quality - cost, by its two sides.
  double quality = 0.0;           ///< sum of mu*(deployed)
  double realised_quality = 0.0;  ///< sum of the Bernoulli rewards of the deployed boxes
  double cost = 0.0;              ///< sum of the costs of the queried boxes
  double unsolved_refits = 0.0;   ///< joint refits that ended at their greatest number of steps (RefitPlan)
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

  /// Adds the regret parts of the period that add() is about to count. For `opens` see regret_parts().
  template <int kMost = kMaxBoxes, class Opens>
  PANDORA_HD void split_regret(const PeriodOutcome& outcome, int boxes, const double* mu, const double* costs,
                               const double* sigma, Opens&& opens, unsigned there = kAllBoxes) {
    regret.add(regret_parts<kMost>(outcome, boxes, mu, costs, sigma, opens, there));
  }

  /// Adds the regret of a period of arms to the first part: where boxes may be deployed unopened, the optimal policy
  /// has no order and stopping rule of its own into which the regret could be split.
  PANDORA_HD void whole_regret(const PeriodOutcome& optimal, const PeriodOutcome& outcome, const ArmValues& values) {
    const auto utility_of = [&values](const PeriodOutcome& of) {
      return values.mu[of.deployed] - spent_on(of, values.cost);
    };
    regret.wrong_order += utility_of(optimal) - utility_of(outcome);
  }

  /// Adds a period, given mu*, costs and rewards of all boxes.
  PANDORA_HD void add(const PeriodOutcome& outcome, const double* mu, const double* costs, const float* reward) {
    for (int k = 0; k < outcome.queried; ++k) queries_of_box[outcome.order[k]] += 1.0;
    deployments_of_box[outcome.deployed] += 1.0;
    depth[outcome.queried] += 1.0;
    count(outcome, mu, costs, reward);
  }

  /// Adds a period of arms (actions.hpp). Openings count for their box, `depth` counts the different boxes opened, and
  /// the outside option counts for none.
  PANDORA_HD void add(const PeriodOutcome& outcome, const Actions& actions, int boxes, const ArmValues& values) {
    const int outside = actions.outside_arm(boxes);
    unsigned opened = 0;
    for (int k = 0; k < outcome.queried; ++k) {
      if (outcome.order[k] == outside) continue;
      const int a = actions.box_of(outcome.order[k]);
      queries_of_box[a] += 1.0;
      opened |= 1u << a;
    }
    if (outcome.deployed != outside) deployments_of_box[actions.box_of(outcome.deployed)] += 1.0;
    depth[count_of(opened, boxes)] += 1.0;
    count(outcome, values.mu, values.cost, values.reward);
  }

  PANDORA_HD void fail(Failure what, int period) {
    failure = what;
    failed_period = period;
  }

 private:
  PANDORA_HD void count(const PeriodOutcome& outcome, const double* mu, const double* costs, const float* reward) {
    const double spent = spent_on(outcome, costs);
    const double gained = mu[outcome.deployed] - spent;
    ++periods;
    utility += gained;
    utility_squares += gained * gained;
    realised_utility += reward[outcome.deployed] - spent;
    quality += mu[outcome.deployed];
    realised_quality += reward[outcome.deployed];
    cost += spent;
    if (periods != next) return;
    regret_curve[recorded] = regret;
    curve[recorded++] = utility;
    next = next_checkpoint(periods, horizon);
  }
};

/// A sum over a lane's periods, as in results.h5. The parts of results, results.h5 and the checks for finite numbers
/// loop over kLaneSums. row_statistics() (host/studies/results/summary.hpp) says which of them summary.csv, tables and
/// figures show.
struct LaneSum {
  using Member = double LaneTally::*;
  const char *name, *unit, *meaning;
  Member member;
};
inline constexpr LaneSum kLaneSums[] = {
    {"utility", "reward", "sum over the periods of mu* of the deployed output minus the costs", &LaneTally::utility},
    {"utility_squares", "reward^2", "sum of the squares of the same per period", &LaneTally::utility_squares},
    {"realised_utility", "reward", "the sum with the Bernoulli reward in place of mu*", &LaneTally::realised_utility},
    {"quality", "reward", "sum over the periods of mu* of the deployed output", &LaneTally::quality},
    {"realised_quality", "reward", "sum of the Bernoulli rewards of the deployed outputs",
     &LaneTally::realised_quality},
    {"cost", "reward", "sum of the costs of the queried boxes; utility = quality - cost", &LaneTally::cost},
    {"unsolved_refits", "refits", "joint refits that ended at estimation.joint_steps, above their tolerance",
     &LaneTally::unsolved_refits},
};
inline constexpr int kCountOfSums = sizeof kLaneSums / sizeof kLaneSums[0];
static_assert(sizeof(LaneTally) == sizeof(double) * (kCountOfSums + 3 * kMaxBoxes + 1 + kMostCheckpoints +
                                                     (kCountOfParts + kCountOfGaps) * (1 + kMostCheckpoints)) +
                                       8 * sizeof(int),
              "a member that kLaneSums and for_each_number do not name");

/// Calls body(number) for all numbers of a tally except its counts of periods and its failure, in the order in which a
/// part of the results stores them. Boxes and checkpoints that do not exist are left out.
template <class Tally, class Body>
void for_each_number(Tally& tally, int boxes, int checkpoints, Body&& body) {
  for (const LaneSum& sum : kLaneSums) body(tally.*sum.member);
  const auto all = [&body](auto* values, int n) {
    for (int i = 0; i < n; ++i) body(values[i]);
  };
  all(tally.queries_of_box, boxes);
  all(tally.deployments_of_box, boxes);
  all(tally.depth, boxes + 1);
  all(tally.curve, checkpoints);
  const auto part = [&](RegretPart::Member member) {
    body(tally.regret.*member);
    for (int i = 0; i < checkpoints; ++i) body(tally.regret_curve[i].*member);
  };
  for (const RegretPart& one : kRegretParts) part(one.member);
  for (const RegretPart& one : kPathGaps) part(one.member);
}

}  // namespace pandora
