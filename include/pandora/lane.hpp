// A lane's rules as data: LaneSpec, and the lanes of Weitzman's rule with learned indices. LaneTally is what is kept of
// a lane.
#pragma once

#include "kernels/rules/spec.hpp"
#include "kernels/rules/tally.hpp"

namespace pandora {

/// The usual settings of the reward, as rows of the results name them.
struct RewardSetting {
  const char* name;
  RewardModel model;
};
inline constexpr RewardSetting kRewardSettings[] = {{"known", RewardModel::known}, {"unknown", RewardModel::learned}};

/// Weitzman's rule with learned indices. It opens boxes in descending order of (eq:tilde:sigma:theta:known) until the
/// best reward reaches the next index; a learned reward is (eq:mu:tilde). `T0` >= 0 is the number of calibration
/// periods. The bonuses c_rho on an index's width and c_theta on a learned reward's width must be finite. Without
/// bonuses it is the plug-in rule, with them the paper's DOW.
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

/// The same with the boxes' slopes shrunk towards a common one (kernels/rules/shrinkage.hpp), and the bonus c_shrunk on
/// the width ||psi||_{C_aa}, with C_aa box a's block of the joint fit's inverse Hessian. Every box is opened first until
/// it has five samples; otherwise a box that starts with a bad sample could stay closed for good.
inline LaneSpec shrunk_lane(int T0, RewardModel reward, double c_shrunk, double c_theta = 0.0) {
  LaneSpec lane = weitzman_lane(T0, Learning::online, reward, c_shrunk, c_theta);
  lane.fit = Fit::shrunk;
  lane.bonus.kind = Bonus::log_ratio;
  lane.forced = 5;
  return lane;
}

}  // namespace pandora
