// What remains of a lane: sums over its online periods, in double.
#pragma once

#include "kernels/instance.hpp"
#include "kernels/walk.hpp"

namespace pandora {

struct LaneTally {
  int periods = 0;
  double utility = 0.0;  ///< sum of mu*(deployed) - costs of the queried boxes
  double utility_squares = 0.0;
  double realised_utility = 0.0;  ///< the same with the Bernoulli reward of the deployed box
  double queries_of_box[kMaxBoxes] = {};
  double depth[kMaxBoxes + 1] = {};  ///< depth[k]: periods that opened k boxes

  friend bool operator==(const LaneTally&, const LaneTally&) = default;

  double queries() const {
    double sum = 0.0;
    for (double q : queries_of_box) sum += q;
    return sum;
  }

  PANDORA_HD void add(const PeriodOutcome& outcome, const double* mu, const double* cost, const std::uint8_t* reward) {
    double spent = 0.0;
    for (int k = 0; k < outcome.queried; ++k) {
      spent += cost[outcome.order[k]];
      queries_of_box[outcome.order[k]] += 1.0;
    }
    const double gained = mu[outcome.deployed] - spent;
    ++periods;
    utility += gained;
    utility_squares += gained * gained;
    realised_utility += reward[outcome.deployed] - spent;
    depth[outcome.queried] += 1.0;
  }
};

}  // namespace pandora
