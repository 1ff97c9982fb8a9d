// LinUCB treats each box as an arm: one box per period, ridge regression of the net payoff r - c on psi(x).
#pragma once

#include "pandora/policy.hpp"

namespace pandora::policies {

inline LaneSpec linucb_lane(int T0, Learning learning, double c_b) {
  LaneSpec lane;
  lane.T0 = T0;
  lane.score = Score::learned_payoff;
  lane.stop = Stop::after_first;
  lane.learning = learning;
  lane.c_b = c_b;
  return lane;
}

}  // namespace pandora::policies
