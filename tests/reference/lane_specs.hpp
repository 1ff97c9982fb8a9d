// Lanes as policies make them, for tests that need a lane but no policy.
#pragma once

#include "kernels/rules/spec.hpp"

namespace pandora::test {

/// A lane of DOW. With c_rho = 0 and a known reward it is the plug-in policy.
inline LaneSpec dow_lane(RewardModel reward, int T0, double c_rho = 0.1) {
  LaneSpec lane;
  lane.score = Score::learned_index;
  lane.learning = Learning::online;
  lane.reward = reward;
  lane.c_rho = c_rho;
  lane.c_theta = reward == RewardModel::learned ? 0.1 : 0.0;
  lane.T0 = T0;
  return lane;
}

inline LaneSpec linucb_lane(int T0, double c_b = 0.1) {
  LaneSpec lane;
  lane.score = Score::learned_payoff;
  lane.stop = Stop::after_first;
  lane.learning = Learning::online;
  lane.c_b = c_b;
  lane.T0 = T0;
  return lane;
}

/// Weitzman's rule on any given scores.
inline LaneSpec weitzman_rule() {
  LaneSpec spec;
  spec.order = Order::by_score;
  spec.stop = Stop::best_reaches_scores_left;
  return spec;
}

}  // namespace pandora::test
