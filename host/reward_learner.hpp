// A lane's estimate of theta_*: the online Newton steps and, when the sample count has grown by 5%, the exact
// ridge-penalised maximum-likelihood estimate (eq:hat:theta:def). The fast engine's counterpart of fit_reward.
#pragma once

#include <vector>

#include "kernels/refit_schedule.hpp"
#include "kernels/reward_gradient.hpp"
#include "kernels/reward_state.hpp"

namespace pandora {

class RewardLearner {
 public:
  /// d features, room for `most` samples, ridge eta_0.
  RewardLearner(int d, int most, double ridge);
  RewardLearner(RewardLearner&&) = default;  // state_ points into memory_, which a move keeps and a copy would not
  RewardLearner(const RewardLearner&) = delete;

  const RewardState& state() const { return state_; }
  int samples() const { return samples_.n; }

  /// A deployed output and its reward: Phi^-1 and theta_hat take the sample's rank-one steps.
  void observe(const float* phi, float reward);

  /// Whether an exact solve is due.
  bool due() const { return samples_.n >= kRewardRefitGrowth * solved_at_ - 1e-9; }

  /// Newton's method on the penalised likelihood from theta_hat, to a squared decrement of about 1e-10; rebuilds the
  /// inverse curvature. Throws LaneFailure after 100 steps or where a number is not finite.
  void solve();

 private:
  double ridge_;
  std::vector<double> memory_;
  RewardState state_;
  RewardSampleTable samples_;
  int solved_at_ = 0;
};

}  // namespace pandora
