// rho_hat, the minimiser of the index loss, by Newton's method in double: the plain solver with which the fast engine's
// solver is compared.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/rules/index_loss.hpp"
#include "kernels/rules/ridges.hpp"
#include "kernels/rules/spec.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora {

/// The queried samples S_a of one box: rows of the tape, costs c_s, and mu_s under the lane's current reward estimate
/// (mu* if it is known).
struct IndexSamples {
  std::vector<int> rows;
  std::vector<double> cost;
  std::vector<double> mu;
  std::vector<double> weight = {};  ///< in (0, 1]; empty: all 1
  std::vector<int> learned = {};    ///< the period in which each was learned; empty if not needed (Forgetting::dated)
  std::vector<float> phi = {};      ///< features of the outputs, d for each, if the reward is learned
  Loss loss = Loss::reservation;

  int size() const { return static_cast<int>(rows.size()); }
  /// The lists with a number for each sample, of which the last two may be empty.
  auto lists() { return std::tie(rows, cost, mu, weight, learned); }
  void add(int row, double c, double m) {
    rows.push_back(row);
    cost.push_back(c);
    mu.push_back(m);
    if (!weight.empty()) weight.push_back(1.0);
  }
  double weight_of(int s) const { return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(s)]; }
  /// The sum of the weights, rounded.
  int effective() const {
    return weight.empty() ? size() : static_cast<int>(std::lround(std::accumulate(weight.begin(), weight.end(), 0.0)));
  }
  /// m and h of n samples from `first` on, at their z and times their weights.
  void moments(int first, int n, const double* z, double* moment, double* curvature) const;
};

/// diag(ridges), m numbers.
Eigen::VectorXd diagonal_of(Ridges ridges, int m);

/// sum_s w_s l_s(rho) + rho' diag(ridges) rho / 2 at rho.
double index_objective(const Contexts& contexts, const IndexSamples& samples, Ridges ridges,
                       const Eigen::VectorXd& rho);

/// The sums from which a dispersion is learned.
struct IndexSums {
  double squares = 0.0;    ///< sum_s w_s m_s^2
  double curvature = 0.0;  ///< sum_s w_s h_s
};

/// The objective's gradient and, if asked for, its Hessian diag(ridges) + sum w_s h_s psi_s psi_s' (lower triangle),
/// and sums.
void index_derivatives(const Contexts& contexts, const IndexSamples& samples, Ridges ridges, const Eigen::VectorXd& rho,
                       Eigen::VectorXd& gradient, Eigen::MatrixXd* hessian, IndexSums* sums = nullptr);

/// Moves rho from its value to the minimiser (eq:known-theta-rho-estimator), (eq:hat:rho:at) with the ridge term, to a
/// squared Newton decrement of 1e-18. The minimum is over the ball of that radius around 0, or over all rho with a
/// radius of 0. Throws LaneFailure if 100 steps do not suffice or a number is not finite.
void fit_index(const Contexts& contexts, const IndexSamples& samples, Ridges ridges, Eigen::VectorXd& rho,
               double radius = 0.0);

}  // namespace pandora
