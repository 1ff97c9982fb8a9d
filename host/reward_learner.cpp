#include "host/reward_learner.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "host/checks.hpp"

namespace pandora {

RewardLearner::RewardLearner(int d, int most, double ridge)
    : ridge_(ridge),
      memory_(static_cast<std::size_t>(RewardState::size(d))),
      state_(RewardState::over(memory_.data(), d)),
      samples_(d, most) {
  state_.reset(ridge);
}

void RewardLearner::observe(const float* phi, float reward) {
  state_.observe(phi, reward);
  samples_.add(phi, reward);
}

// A step is shortened while the derivative along it has grown well past zero (the objective is convex); near the
// solution the last full step needs no check of its own.
void RewardLearner::solve() {
  using Eigen::MatrixXd;
  using Eigen::VectorXd;
  constexpr double kQuadratic = 1e-5;  // squared decrement from which one full step lands within 1e-9
  constexpr int kMostSteps = 100;
  const int d = state_.d;
  Eigen::Map<VectorXd> theta(state_.theta, d);
  VectorXd gradient(d);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> hessian(d, d);
  const auto evaluate = [&] {
    reward_derivatives(samples_, state_.theta, gradient.data(), hessian.data());
    gradient += ridge_ * theta;
    hessian.diagonal().array() += ridge_;
  };
  evaluate();
  for (int step = 0; step < kMostSteps; ++step) {
    const Eigen::LLT<MatrixXd, Eigen::Lower> factor(MatrixXd(hessian.triangularView<Eigen::Lower>()));
    const VectorXd direction = factor.solve(-gradient);
    const double slope = gradient.dot(direction);
    if (!sound(factor) || !is_finite(slope)) break;
    theta += direction;
    if (-slope <= kQuadratic) {
      Eigen::Map<MatrixXd>(state_.curvature_inverse, d, d) = factor.solve(MatrixXd::Identity(d, d));
      solved_at_ = samples_.n;
      return;
    }
    evaluate();
    for (double length = 1.0; gradient.dot(direction) > -0.5 * slope && length > 1e-6; length *= 0.5) {
      theta -= 0.5 * length * direction;
      evaluate();
    }
  }
  throw LaneFailure(Failure::reward_fit, "the reward fit did not converge in 100 Newton steps");
}

}  // namespace pandora
