// Where the regret of a period comes from. A lane differs from the oracle in its order of boxes, in when it stops and
// in which output it deploys. Two paths lead from the oracle to the lane. One changes the order first and then the
// stopping, the other changes the stopping first and then the order. The cost of a step depends on the path, so each
// part is the mean over both paths (the Shapley value of two players). On each path the parts add up to the regret, up
// to rounding. So do their means, and sums over periods.
#pragma once

#include "kernels/rules/period.hpp"

namespace pandora {

/// The parts of one period, or sums over periods. Each is a difference of expected utilities (with mu*), averaged over
/// both paths. Single periods can be negative: the oracle's rule is only the best on average, and its stopping is the
/// best one in its own order.
struct RegretParts {
  double wrong_order = 0.0;  ///< the cost of the step from the oracle's order to the lane's
  double too_early = 0.0;    ///< of the step from the oracle's stopping to the lane's, where the lane opens fewer boxes
  double too_many = 0.0;     ///< the same where the lane opens more
  double wrong_deployment = 0.0;  ///< the best of the opened outputs - the deployed one; 0 where mu* is known
  // The first path (order, then stopping) minus the second; for too_many the gap is such that the gaps sum to 0. NaN in
  // results of an earlier version, which computed the first path only.
  double wrong_order_gap = 0.0;
  double too_early_gap = 0.0;

  PANDORA_HD void add(const RegretParts& other) {
    wrong_order += other.wrong_order;
    too_early += other.too_early;
    too_many += other.too_many;
    wrong_deployment += other.wrong_deployment;
    wrong_order_gap += other.wrong_order_gap;
    too_early_gap += other.too_early_gap;
  }
  friend bool operator==(const RegretParts&, const RegretParts&) = default;
};

/// A member of RegretParts with its name in files and its title in tables and figures. Code that reads or writes parts
/// loops over kRegretParts, the parts that add up to the regret, and kPathGaps.
struct RegretPart {
  using Member = double RegretParts::*;
  const char *name, *title;
  Member member;
};
inline constexpr RegretPart kRegretParts[] = {
    {"wrong_order", "wrong order", &RegretParts::wrong_order},
    {"too_early", "too early", &RegretParts::too_early},
    {"too_many", "too many", &RegretParts::too_many},
    {"wrong_deployment", "wrong deployment", &RegretParts::wrong_deployment},
};
inline constexpr RegretPart kPathGaps[] = {
    {"wrong_order_gap", "wrong order, first path less second", &RegretParts::wrong_order_gap},
    {"too_early_gap", "too early, first path less second", &RegretParts::too_early_gap},
};
inline constexpr int kCountOfParts = sizeof kRegretParts / sizeof kRegretParts[0];
inline constexpr int kCountOfGaps = sizeof kPathGaps / sizeof kPathGaps[0];
static_assert(sizeof(RegretParts) == (kCountOfParts + kCountOfGaps) * sizeof(double),
              "a number that neither kRegretParts nor kPathGaps names");

/// The best mu* of the first `opened` boxes of an order minus their costs.
PANDORA_HD inline double best_of_first(const int* order, int opened, const double* mu, const double* cost) {
  double best = mu[order[0]], spent = cost[order[0]];
  for (int k = 1; k < opened; ++k) {
    best = mu[order[k]] > best ? mu[order[k]] : best;
    spent += cost[order[k]];
  }
  return best - spent;
}

/// How many boxes of an order the oracle opens: it stops when the best mu* reaches every remaining index.
PANDORA_HD inline int opened_by_oracle(const int* order, int boxes, const double* mu, const double* sigma) {
  double best = mu[order[0]];
  for (int opened = 1; opened < boxes; ++opened) {
    bool stops = true;
    for (int k = opened; k < boxes; ++k) stops = stops && best >= sigma[order[k]];
    if (stops) return opened;
    best = mu[order[opened]] > best ? mu[order[opened]] : best;
  }
  return boxes;
}

/// How many boxes of an order the lane's stopping rule opens, at most `length`. The order need not be the lane's own.
/// Box a answers with response[a].
template <bool kArms = false>
PANDORA_HD inline int opened_by_lane(const LaneSpec& spec, Stop stop, int length, const double* score,
                                     const double* response, const int* order, unsigned there = kAllBoxes) {
  double best = response[order[0]];
  for (int k = 0;; ++k) {
    const double mu = response[order[k]];
    best = mu > best ? mu : best;
    if (k + 1 >= length || stops<kArms>(spec, stop, length, score, order, k, mu, best, there)) return k + 1;
  }
}

/// The parts of a period in which the lane did `outcome`, given mu*, costs and oracle indices of all boxes. Boxes that
/// are not in the lane's order come last, in the oracle's order. `opens(order)` returns how many boxes of the oracle's
/// order the lane's own stopping opens, at least one. For this, outputs that the lane opened in the period have the
/// value that the lane estimated; outputs that it has not seen have mu*. Boxes that are not there do not count. kMost:
/// the most boxes.
template <int kMost = kMaxBoxes, class Opens>
PANDORA_HD inline RegretParts regret_parts(const PeriodOutcome& outcome, int boxes, const double* mu,
                                           const double* cost, const double* sigma, Opens&& opens,
                                           unsigned there = kAllBoxes) {
  int best_order[kMost], order[kMost], kept = 0;
  sort_boxes(boxes, sigma, best_order);
  for (int k = 0; k < boxes; ++k)
    if (holds(there, best_order[k])) best_order[kept++] = best_order[k];
  boxes = kept;
  int placed = 0;
  unsigned seen = 0;
  for (; placed < outcome.ranked; ++placed) {
    order[placed] = outcome.order[placed];
    seen |= 1u << order[placed];
  }
  for (int k = 0; k < boxes; ++k)
    if ((seen >> best_order[k] & 1) == 0) order[placed++] = best_order[k];
  const int opened = opened_by_oracle(order, boxes, mu, sigma),
            opened_in_best = opened_by_oracle(best_order, boxes, mu, sigma), lane_in_best = opens(best_order);
  const double oracle = best_of_first(best_order, opened_in_best, mu, cost),
               stopped_well = best_of_first(order, opened, mu, cost),
               ordered_well = best_of_first(best_order, lane_in_best, mu, cost),
               own = best_of_first(order, outcome.queried, mu, cost);
  double best = mu[order[0]];
  for (int k = 1; k < outcome.queried; ++k) best = mu[order[k]] > best ? mu[order[k]] : best;
  const double order_first = oracle - stopped_well, stop_first = stopped_well - own,
               stop_second = oracle - ordered_well, order_second = ordered_well - own;
  const double early_first = outcome.queried < opened ? stop_first : 0.0,
               early_second = lane_in_best < opened_in_best ? stop_second : 0.0;
  RegretParts parts;
  parts.wrong_order = 0.5 * (order_first + order_second);
  parts.too_early = 0.5 * (early_first + early_second);
  parts.too_many = 0.5 * ((stop_first - early_first) + (stop_second - early_second));
  parts.wrong_deployment = best - mu[outcome.deployed];
  parts.wrong_order_gap = order_first - order_second;
  parts.too_early_gap = early_first - early_second;
  return parts;
}

}  // namespace pandora
