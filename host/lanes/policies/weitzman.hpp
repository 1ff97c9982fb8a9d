// What the learning Weitzman policies share: learned indices, stop when the best reward reaches the next index.
#pragma once

#include "pandora/policy.hpp"

namespace pandora::policies {

/// The settings of the reward, as rows of the results name them.
struct RewardSetting {
  const char* name;
  RewardModel model;
};
inline constexpr RewardSetting kRewardSettings[] = {{"known", RewardModel::known}, {"unknown", RewardModel::learned}};

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

/// Slopes of the boxes shrunk towards a common one (kernels/rules/shrinkage.hpp), a bonus on the width of C_aa, and
/// DOW's on a learned reward.
/// Every box is opened first until it has five samples: a box that starts with a bad one could else stay closed for
/// good.
inline LaneSpec shrunk_lane(int T0, RewardModel reward, double c_shrunk, double c_theta = 0.0) {
  LaneSpec lane = weitzman_lane(T0, Learning::online, reward, c_shrunk, c_theta);
  lane.fit = Fit::shrunk;
  lane.bonus.kind = Bonus::log_ratio;
  lane.forced = 5;
  return lane;
}

/// The two variants without optimism, with mu* known and unknown.
inline std::vector<PolicyVariant> plug_in_variants(Learning learning) {
  std::vector<PolicyVariant> variants;
  for (const RewardSetting& setting : kRewardSettings)
    variants.push_back({setting.name, "", [=](const Replication&, int T0) {
                          return weitzman_lane(T0, learning, setting.model, 0.0, 0.0);
                        }});
  return variants;
}

}  // namespace pandora::policies
