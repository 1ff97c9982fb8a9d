// theta_hat solved exactly: the ridge-penalised logistic maximum-likelihood estimate. Also steps of a fit that is
// confined to a ball around 0.
#pragma once

#include <Eigen/Core>
#include <tuple>
#include <vector>

#include "kernels/state/reward_state.hpp"

namespace pandora {

/// The point of the ball at which a model of the objective is least, and the multiplier of |y| <= radius there (0
/// inside).
struct BallPoint {
  Eigen::VectorXd y;
  double multiplier = 0.0;
};

/// The y with |y| <= radius that minimises gradient' (y - at) + (y - at)' hessian (y - at) / 2. hessian: its lower
/// triangle, positive definite. On the sphere, y is the minimiser with a larger ridge on all coordinates. That
/// additional ridge is the multiplier; a safeguarded Newton iteration on 1/radius - 1/|y| finds it. Throws LaneFailure
/// if the Hessian is not positive definite or a number is not finite.
BallPoint minimise_in_ball(const Eigen::MatrixXd& hessian, const Eigen::VectorXd& gradient, const Eigen::VectorXd& at,
                           double radius);

/// Scales x back into the ball; a radius of 0 means no ball.
void pull_into_ball(Eigen::Ref<Eigen::VectorXd> x, double radius);

/// Whether x lies on the sphere, up to rounding, or outside. Always false with a radius of 0.
bool reaches_sphere(const Eigen::Ref<const Eigen::VectorXd>& x, double radius);

/// Deployed samples: features, d for each, and rewards r in [0, 1].
struct RewardSamples {
  std::vector<float> phi = {};
  std::vector<double> reward = {};
  std::vector<double> weight = {};  ///< in (0, 1]; empty: all 1
  std::vector<int> learned = {};    ///< like IndexSamples::learned
  int size() const { return static_cast<int>(reward.size()); }
  /// The lists with a number for each sample, of which the last two may be empty.
  auto lists() { return std::tie(reward, weight, learned); }
};

/// Solves sum_k w_k (r_k - G(theta' phi_k)) phi_k = ridge theta, where the norm in (eq:hat:theta:def) is zero, by
/// Newton's method from state.theta. Rebuilds state.curvature_inverse at the solution; state's Phi^-1 stays. With a
/// radius above 0, Theta is the ball of that radius around 0. If the zero lies outside, theta_hat is the point of the
/// sphere at which the norm in the samples' Phi^-1 is least (a local minimum, found from the zero scaled to the
/// sphere). Throws LaneFailure if the steps do not suffice or a number is not finite.
void fit_reward(const RewardSamples& samples, double ridge, RewardState& state, double radius = 0.0);

}  // namespace pandora
