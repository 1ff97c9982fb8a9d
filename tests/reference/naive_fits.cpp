#include "naive_fits.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace pandora::naive {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The root of a strongly monotone field. A Newton step is kept only if it shrinks the field. Otherwise a few steps of
// length 1/L follow, which always shrink it. The norm of the field proves the result.
VectorXd root(const std::function<VectorXd(const VectorXd&)>& field,
              const std::function<MatrixXd(const VectorXd&)>& jacobian, double lipschitz, int size) {
  VectorXd at = VectorXd::Zero(size), value = field(at);
  for (int step = 0; step < 100000; ++step) {
    if (value.norm() < 1e-11) return at;
    const VectorXd newton = at - jacobian(at).inverse() * value;
    const VectorXd there = field(newton);
    if (there.norm() < 0.9 * value.norm()) {
      at = newton;
      value = there;
      continue;
    }
    for (int k = 0; k < 20; ++k) at -= field(at) / lipschitz;
    value = field(at);
    if (value.norm() < 1e-10 && step > 1000) return at;  // as far as rounding allows
  }
  throw std::logic_error("the naive solver found no root");
}

}  // namespace

double reward_link(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}
double index_link(double z) {
  return std::tanh(z);
}

double link_of(Loss loss, double z) {
  return loss == Loss::reservation ? index_link(z) : z;
}

double slope_of(Loss loss, double z) {
  return loss == Loss::reservation ? 1.0 - index_link(z) * index_link(z) : 1.0;
}

bool is_active(double mu, double z, Loss loss) {
  return mu > link_of(loss, z);
}

double moment(double cost, double mu, double z, Loss loss) {
  return cost - std::max(mu - link_of(loss, z), 0.0);
}

VectorXd ridges_of(int m, double first, double others) {
  VectorXd out = VectorXd::Constant(m, others);
  out[0] = first;
  return out;
}

VectorXd index_gradient(const std::vector<IndexSample>& samples, const std::vector<double>& mu, const VectorXd& ridge,
                        const VectorXd& rho, Loss loss) {
  VectorXd sum = ridge.cwiseProduct(rho);
  for (std::size_t s = 0; s < samples.size(); ++s)
    sum += moment(samples[s].cost, mu[s], samples[s].psi.dot(rho), loss) * samples[s].psi;
  return sum;
}

VectorXd fit_index(const std::vector<IndexSample>& samples, const std::vector<double>& mu, const VectorXd& ridge,
                   Loss loss) {
  double lipschitz = ridge.maxCoeff();
  for (const IndexSample& sample : samples) lipschitz += sample.psi.squaredNorm();
  return root([&](const VectorXd& rho) { return index_gradient(samples, mu, ridge, rho, loss); },
              [&](const VectorXd& rho) { return index_jacobian(samples, mu, ridge, rho, loss); }, lipschitz,
              static_cast<int>(samples[0].psi.size()));
}

VectorXd fit_index_in_ball(const std::vector<IndexSample>& samples, const std::vector<double>& mu,
                           const VectorXd& ridge, double radius, Loss loss) {
  VectorXd at = VectorXd::Zero(samples[0].psi.size());
  if (radius == 0.0 || ridge.minCoeff() > 1e-3) {  // with a smaller ridge the zero may be far away
    const VectorXd zero = fit_index(samples, mu, ridge, loss);
    if (radius == 0.0 || zero.norm() <= radius) return zero;
  }
  double lipschitz = ridge.maxCoeff();
  for (const IndexSample& sample : samples) lipschitz += sample.psi.squaredNorm();
  for (int step = 0; step < 1000000; ++step) {
    VectorXd next = at - index_gradient(samples, mu, ridge, at, loss) / lipschitz;
    if (next.norm() > radius) next *= radius / next.norm();
    const double moved = (next - at).norm();
    at = next;
    if (moved < 1e-13 * radius) return at;
  }
  throw std::logic_error("the projected gradient steps did not end");
}

VectorXd reward_gradient(const std::vector<RewardSample>& samples, double ridge, const VectorXd& theta) {
  VectorXd sum = ridge * theta;
  for (const RewardSample& sample : samples) sum -= (sample.reward - reward_link(sample.phi.dot(theta))) * sample.phi;
  return sum;
}

VectorXd fit_reward(const std::vector<RewardSample>& samples, double ridge, int d) {
  double lipschitz = ridge;
  for (const RewardSample& sample : samples) lipschitz += 0.25 * sample.phi.squaredNorm();
  return root([&](const VectorXd& theta) { return reward_gradient(samples, ridge, theta); },
              [&](const VectorXd& theta) { return reward_jacobian(samples, ridge, theta); }, lipschitz, d);
}

double reward_norm(const std::vector<RewardSample>& samples, double ridge, const VectorXd& theta) {
  MatrixXd design = ridge * MatrixXd::Identity(theta.size(), theta.size());
  for (const RewardSample& sample : samples) design += sample.phi * sample.phi.transpose();
  const VectorXd residual = reward_gradient(samples, ridge, theta);
  return residual.dot(design.inverse() * residual);
}

VectorXd fit_reward_in_disc(const std::vector<RewardSample>& samples, double ridge, int d, double radius) {
  const VectorXd zero = fit_reward(samples, ridge, d);
  if (radius == 0.0 || zero.norm() <= radius) return zero;
  if (d != 2) throw std::logic_error("the naive search goes around a circle");
  Eigen::Matrix2d design = ridge * Eigen::Matrix2d::Identity();
  for (const RewardSample& sample : samples) design += sample.phi * sample.phi.transpose();
  const Eigen::Matrix2d inverse = design.inverse();
  const auto norm_at = [&](double angle) {  // reward_norm for d = 2
    const Eigen::Vector2d theta(radius * std::cos(angle), radius * std::sin(angle));
    Eigen::Vector2d residual = ridge * theta;
    for (const RewardSample& sample : samples) {
      const double error = sample.reward - reward_link(sample.phi[0] * theta[0] + sample.phi[1] * theta[1]);
      residual -= error * Eigen::Vector2d(sample.phi[0], sample.phi[1]);
    }
    return residual.dot(inverse * residual);
  };
  constexpr int kAngles = 36;
  constexpr double kStep = 2.0 * 3.14159265358979324 / kAngles;
  double best = 0.0;
  for (int k = 1; k < kAngles; ++k) best = norm_at(k * kStep) < norm_at(best) ? k * kStep : best;
  double low = best - kStep, high = best + kStep;
  for (int step = 0; step < 45; ++step) {  // ternary search
    const double left = low + (high - low) / 3.0, right = high - (high - low) / 3.0;
    (norm_at(left) < norm_at(right) ? high : low) = norm_at(left) < norm_at(right) ? right : left;
  }
  return Eigen::Vector2d(radius * std::cos(low), radius * std::sin(low));
}

MatrixXd index_jacobian(const std::vector<IndexSample>& samples, const std::vector<double>& mu, const VectorXd& ridge,
                        const VectorXd& rho, Loss loss) {
  MatrixXd sum = ridge.asDiagonal();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const double z = samples[s].psi.dot(rho);
    if (is_active(mu[s], z, loss)) sum += slope_of(loss, z) * samples[s].psi * samples[s].psi.transpose();
  }
  return sum;
}

MatrixXd reward_jacobian(const std::vector<RewardSample>& samples, double ridge, const VectorXd& theta) {
  MatrixXd sum = ridge * MatrixXd::Identity(theta.size(), theta.size());
  for (const RewardSample& sample : samples) {
    const double g = reward_link(sample.phi.dot(theta));
    sum += g * (1.0 - g) * sample.phi * sample.phi.transpose();
  }
  return sum;
}

double norm_in_inverse(const VectorXd& vector, const MatrixXd& matrix) {
  return std::sqrt(vector.dot(matrix.inverse() * vector));
}

}  // namespace pandora::naive
