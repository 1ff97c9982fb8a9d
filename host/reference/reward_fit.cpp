#include "host/reference/reward_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "host/reference/checks.hpp"

namespace pandora {
namespace {

double negative_log_likelihood(const Eigen::VectorXd& z, const RewardSamples& samples) {
  double sum = 0.0;  // log(1 + e^z) - r z without overflow
  for (Eigen::Index k = 0; k < z.size(); ++k) {
    const double one = std::max(z[k], 0.0) + std::log1p(std::exp(-std::abs(z[k]))) - samples.reward[k] * z[k];
    sum += samples.weight.empty() ? one : samples.weight[k] * one;
  }
  return sum;
}

}  // namespace

void fit_reward(const Tape& tape, const RewardSamples& samples, double ridge, RewardState& state) {
  const int d = state.d, n = samples.size();
  Eigen::MatrixXd phi(d, n);
  for (int k = 0; k < n; ++k)
    phi.col(k) = Eigen::Map<const Eigen::VectorXf>(tape.phi.data() + samples.at[k] * d, d).cast<double>();
  const Eigen::Map<const Eigen::VectorXd> reward(samples.reward.data(), n);
  Eigen::Map<Eigen::VectorXd> theta(state.theta, d);
  Eigen::VectorXd z(n), g(n), weight = Eigen::VectorXd::Ones(n);
  if (!samples.weight.empty()) weight = Eigen::Map<const Eigen::VectorXd>(samples.weight.data(), n);
  Eigen::MatrixXd hessian;
  for (int step = 0; step < 100; ++step) {
    z.noalias() = phi.transpose() * theta;
    for (int k = 0; k < n; ++k) g[k] = logistic(z[k]);
    hessian = ridge * Eigen::MatrixXd::Identity(d, d);
    hessian.noalias() += phi * (g.array() * (1.0 - g.array()) * weight.array()).matrix().asDiagonal() * phi.transpose();
    const Eigen::VectorXd gradient = phi * ((g - reward).array() * weight.array()).matrix() + ridge * theta;
    const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
    const Eigen::VectorXd direction = factor.solve(-gradient);
    const double slope = gradient.dot(direction);
    if (!sound(factor) || !is_finite(slope)) break;
    if (-slope <= 1e-18) {
      Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(state.curvature_inverse, d, d, {RewardState::stride(d)}) =
          factor.solve(Eigen::MatrixXd::Identity(d, d));
      return;
    }
    double length = 1.0;
    if (-slope > 1e-9) {
      const double before = negative_log_likelihood(z, samples) + 0.5 * ridge * theta.squaredNorm();
      const Eigen::VectorXd dz = phi.transpose() * direction;
      while (negative_log_likelihood(z + length * dz, samples) +
                     0.5 * ridge * (theta + length * direction).squaredNorm() >
                 before + 1e-4 * length * slope &&
             length > 1e-10)
        length *= 0.5;
    }
    theta += length * direction;
  }
  throw LaneFailure(Failure::reward_fit, "the reward fit did not converge in 100 Newton steps");
}

}  // namespace pandora
