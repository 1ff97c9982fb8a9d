// What a box brings and costs as linear functions of psi(x), by least squares, with the residuals of its samples.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "pandora/custom_policy.hpp"
#include "pandora/policy.hpp"

namespace pandora::rivals {

/// The value of a box in context x, mu* = theta' psi + e where the law of e does not depend on x; and its expected cost,
/// a linear function too. Both are least squares with the ridges of V: estimation.eta_index and eta_slopes.
struct LinearBox {
  std::vector<std::size_t> rows;  ///< of the samples' contexts, in order
  std::vector<double> mu;         ///< mu of each sample
  double costs = 0.0;             ///< the sum over samples
  Eigen::MatrixXd inverse;        ///< (D + sum psi psi')^-1 with the diagonal D of ridges
  Eigen::VectorXd theta, cost, image;

  LinearBox(int m, Ridges ridges)
      : inverse(Eigen::MatrixXd::Identity(m, m)),
        theta(Eigen::VectorXd::Zero(m)),
        cost(Eigen::VectorXd::Zero(m)),
        image(m) {
    for (int k = 0; k < m; ++k) inverse(k, k) = 1.0 / ridges.of(k);
  }

  double width(const Eigen::VectorXd& psi) const {
    return std::sqrt(std::max(0.0, psi.dot(inverse.selfadjointView<Eigen::Lower>() * psi)));
  }
  /// Takes an output that was opened in context psi, which is row `row` of all contexts.
  void add(const Eigen::VectorXd& psi, std::size_t row, const Output& output) {
    rows.push_back(row);
    mu.push_back(output.mu);
    costs += output.cost;
    image.noalias() = inverse.selfadjointView<Eigen::Lower>() * psi;
    const double share = 1.0 / (1.0 + psi.dot(image));
    theta += share * (output.mu - theta.dot(psi)) * image;
    cost += share * (output.cost - cost.dot(psi)) * image;
    inverse.selfadjointView<Eigen::Lower>().rankUpdate(image, -share);
  }
  /// The samples' e at the current theta. `contexts`: rows of m.
  std::vector<double> residuals(const std::vector<float>& contexts) const {
    const Eigen::VectorXf now = theta.cast<float>();
    const std::size_t m = static_cast<std::size_t>(now.size());
    std::vector<double> out;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Eigen::Map<const Eigen::VectorXf> psi(contexts.data() + rows[k] * m, now.size());
      out.push_back(mu[k] - static_cast<double>(now.dot(psi)));
    }
    return out;
  }
  /// The same, each at the theta that its sample had no part in: e_s / (1 - psi_s' inverse psi_s). With few samples for m
  /// features the plain ones are close to 0.
  std::vector<double> residuals_left_out(const std::vector<float>& contexts) const {
    std::vector<double> out = residuals(contexts);
    const Eigen::MatrixXf P = Eigen::MatrixXd(inverse.selfadjointView<Eigen::Lower>()).cast<float>();
    const std::size_t m = static_cast<std::size_t>(P.rows());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Eigen::Map<const Eigen::VectorXf> psi(contexts.data() + rows[k] * m, P.rows());
      out[k] /= std::max(0.01, 1.0 - static_cast<double>(psi.dot(P * psi)));
    }
    return out;
  }
};

/// The memory and time of a lane with such boxes: a design matrix for each box and one more; all contexts, whose memory
/// grows by doubling.
inline CodeDemand demand_of_linear_boxes(const Dimensions& dimensions, int T0, int periods) {
  const auto u64 = [](int n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t m = u64(dimensions.index_size()), rows = u64(std::max(T0, dimensions.boxes)) + u64(periods);
  return {sizeof(double) * (m * m * u64(dimensions.boxes) + 8 * rows * u64(dimensions.boxes)) +
              3 * sizeof(float) * m * rows,
          2};
}

}  // namespace pandora::rivals
