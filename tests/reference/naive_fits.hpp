// The fits of rho_hat and theta_hat in the plainest way: sums over all samples, and the root of the stationarity
// condition by Newton's method with dense inverses.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "kernels/rules/spec.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora::naive {

/// A queried output of one box.
struct IndexSample {
  Eigen::VectorXd psi;
  Eigen::VectorXd phi;
  double cost = 0.0;
};

/// A deployed output with its realised reward.
struct RewardSample {
  Eigen::VectorXd phi;
  double reward = 0.0;
};

double reward_link(double z);  ///< G, the logistic function
double index_link(double z);   ///< Lambda = tanh

/// A ridge for every coordinate of rho: one for the first coordinate, and one for each of the others.
Eigen::VectorXd ridges_of(int m, double first, double others);

/// diag(ridge) rho + sum_s m_s(rho) psi_s with the rewards mu_s (eq:known-theta-loss-gradient).
Eigen::VectorXd index_gradient(const std::vector<IndexSample>& samples, const std::vector<double>& mu,
                               const Eigen::VectorXd& ridge, const Eigen::VectorXd& rho, Loss loss = Loss::reservation);

/// The zero of index_gradient.
Eigen::VectorXd fit_index(const std::vector<IndexSample>& samples, const std::vector<double>& mu,
                          const Eigen::VectorXd& ridge, Loss loss = Loss::reservation);
inline Eigen::VectorXd fit_index(const std::vector<IndexSample>& samples, const std::vector<double>& mu, double ridge,
                                 Loss loss = Loss::reservation) {
  return fit_index(samples, mu, ridges_of(static_cast<int>(samples[0].psi.size()), ridge, ridge), loss);
}

/// The minimiser over the ball of this radius (0: everywhere). If the zero lies outside the ball, it is the limit of
/// gradient steps that are projected on the ball.
Eigen::VectorXd fit_index_in_ball(const std::vector<IndexSample>& samples, const std::vector<double>& mu,
                                  const Eigen::VectorXd& ridge, double radius, Loss loss = Loss::reservation);

/// ridge theta - sum_k (r_k - G(theta' phi_k)) phi_k, and its zero (eq:hat:theta:def).
Eigen::VectorXd reward_gradient(const std::vector<RewardSample>& samples, double ridge, const Eigen::VectorXd& theta);
Eigen::VectorXd fit_reward(const std::vector<RewardSample>& samples, double ridge, int d);

/// ||reward_gradient||^2 in the inverse of ridge I + sum_k phi_k phi_k' (eq:hat:theta:def), and its minimiser on the
/// disc of this radius (0: everywhere). If the zero lies outside the disc, it is the best angle of the circle, for d =
/// 2.
double reward_norm(const std::vector<RewardSample>& samples, double ridge, const Eigen::VectorXd& theta);
Eigen::VectorXd fit_reward_in_disc(const std::vector<RewardSample>& samples, double ridge, int d, double radius);

// The parts of the gradient for each sample, by the loss of the index.
double link_of(Loss loss, double z);   ///< Lambda, or the identity
double slope_of(Loss loss, double z);  ///< its derivative
bool is_active(double mu, double z, Loss loss = Loss::reservation);
double moment(double cost, double mu, double z, Loss loss = Loss::reservation);

/// Derivatives of the gradients, (m x m) and (d x d).
Eigen::MatrixXd index_jacobian(const std::vector<IndexSample>& samples, const std::vector<double>& mu,
                               const Eigen::VectorXd& ridge, const Eigen::VectorXd& rho, Loss loss);
Eigen::MatrixXd reward_jacobian(const std::vector<RewardSample>& samples, double ridge, const Eigen::VectorXd& theta);

/// The score of Score::hindsight. It prefers the first box with the greatest mu* - c.
inline double naive_hindsight(const Tape& tape, int row, int a) {
  const auto net = [&](int b) { return tape.mu[tape.at(row, b)] - tape.cost[tape.at(row, b)]; };
  const auto is_there = [&](int b) { return (tape.there(row) >> b & 1) != 0; };
  if (!is_there(a)) return -1.0;
  for (int b = 0; b < tape.boxes(); ++b)
    if (!is_there(b))
      continue;
    else if (net(b) > net(a) || (b < a && net(b) == net(a)))
      return -1.0;
  return 2.0;
}

/// ||v|| in the inverse of the matrix, which is the width of an estimate in the direction v.
double norm_in_inverse(const Eigen::VectorXd& vector, const Eigen::MatrixXd& matrix);

/// Whether an estimate lies on the boundary of the ball over which it is minimised.
inline bool binds(const Eigen::VectorXd& estimate, double radius) {
  return radius > 0.0 && estimate.norm() > radius * (1.0 - 1e-9);
}

/// The state that a naive lane keeps for a box.
struct Box {
  std::vector<IndexSample> samples;
  std::vector<double> payoffs;  ///< for LinUCB: r - c of each sample
  Eigen::VectorXd rho;
  double reward_widths = 0.0;  ///< sum of ||phi||^2_{Phi^-1}
  int n_last = 0;              ///< samples at the last exact solve
  Eigen::MatrixXd H, M;        ///< for `tracking`
  int n_rebuilt = 0;           ///< samples when H and M were last summed anew
};

}  // namespace pandora::naive
