// What the learning Weitzman policies share: learned indices, stop when the best reward reaches the next index.
#pragma once

#include "pandora/policy.hpp"

namespace pandora::policies {

inline LaneSpec weitzman_lane(int T0, Learning learning, RewardModel reward, double c_rho, double c_theta) {
  LaneSpec lane;
  lane.T0 = T0;
  lane.score = Score::learned_index;
  lane.learning = learning;
  lane.reward = reward;
  lane.c_rho = c_rho;
  lane.c_theta = c_theta;
  return lane;
}

/// The two variants without optimism, with mu* known and unknown.
inline std::vector<PolicyVariant> plug_in_variants(Learning learning) {
  const auto variant = [learning](const char* name, RewardModel reward) {
    return PolicyVariant{name, "",
                         [=](const Replication&, int T0) { return weitzman_lane(T0, learning, reward, 0.0, 0.0); }};
  };
  return {variant("known", RewardModel::known), variant("unknown", RewardModel::learned)};
}

}  // namespace pandora::policies
