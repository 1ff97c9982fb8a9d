// Where the regret of a period comes from: the period is replayed with the lane's order of boxes and the oracle's
// stopping. Sums of these parts over periods add up to the regret, to rounding.
#pragma once

#include "kernels/rules/period.hpp"

namespace pandora {

/// Of one period or of sums over periods. Each is a difference of expected utilities (with mu*); single periods can be
/// negative, since the oracle's rule is the best on average.
struct RegretParts {
  double wrong_order = 0.0;       ///< oracle - (the lane's order with the oracle's stopping)
  double too_early = 0.0;         ///< the latter - what the boxes gave that the lane opened, where it opened fewer
  double too_many = 0.0;          ///< the same where it opened more
  double wrong_deployment = 0.0;  ///< the best of the opened outputs - the deployed one; 0 where mu* is known

  PANDORA_HD void add(const RegretParts& other) {
    wrong_order += other.wrong_order;
    too_early += other.too_early;
    too_many += other.too_many;
    wrong_deployment += other.wrong_deployment;
  }
  friend bool operator==(const RegretParts&, const RegretParts&) = default;
};

/// A part with its name in files and its title in tables and figures. What reads or writes parts goes over
/// kRegretParts.
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
inline constexpr int kCountOfParts = sizeof kRegretParts / sizeof kRegretParts[0];
static_assert(sizeof(RegretParts) == kCountOfParts * sizeof(double), "a part that kRegretParts does not name");

/// The best mu* of the first `opened` boxes of an order, less their costs.
PANDORA_HD inline double best_of_first(const int* order, int opened, const double* mu, const double* cost) {
  double best = mu[order[0]], spent = cost[order[0]];
  for (int k = 1; k < opened; ++k) {
    best = mu[order[k]] > best ? mu[order[k]] : best;
    spent += cost[order[k]];
  }
  return best - spent;
}

/// How many boxes of an order the oracle opens: until the best mu* reaches every index left.
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

/// The parts of a period in which the lane did `outcome`; mu*, costs and oracle indices of all boxes. Boxes that the
/// lane has no place for come last, in the oracle's order. kMost: boxes at the most.
template <int kMost = kMaxBoxes>
PANDORA_HD inline RegretParts regret_parts(const PeriodOutcome& outcome, int boxes, const double* mu,
                                           const double* cost, const double* sigma) {
  int best_order[kMost], order[kMost];
  sort_boxes(boxes, sigma, best_order);
  int placed = 0;
  unsigned seen = 0;
  for (; placed < outcome.ranked; ++placed) {
    order[placed] = outcome.order[placed];
    seen |= 1u << order[placed];
  }
  for (int k = 0; k < boxes; ++k)
    if ((seen >> best_order[k] & 1) == 0) order[placed++] = best_order[k];
  const int opened = opened_by_oracle(order, boxes, mu, sigma);
  const double oracle = best_of_first(best_order, opened_by_oracle(best_order, boxes, mu, sigma), mu, cost),
               stopped_well = best_of_first(order, opened, mu, cost),
               own = best_of_first(order, outcome.queried, mu, cost);
  double best = mu[order[0]];
  for (int k = 1; k < outcome.queried; ++k) best = mu[order[k]] > best ? mu[order[k]] : best;
  RegretParts parts;
  parts.wrong_order = oracle - stopped_well;
  (outcome.queried < opened ? parts.too_early : parts.too_many) = stopped_well - own;
  parts.wrong_deployment = best - mu[outcome.deployed];
  return parts;
}

}  // namespace pandora
