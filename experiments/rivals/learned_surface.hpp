// A linear model of a number in psi(x), by least squares with a learned ridge on the slopes.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "pandora/custom_policy.hpp"
#include "pandora/learned_ridge.hpp"

namespace pandora::rivals {

inline constexpr Eigen::Index kPanel = 128;  // columns between two checks for an interrupt: less than a second's work

// Replaces the lower triangle by its Cholesky factor.
inline void factorise(Eigen::MatrixXd& matrix) {
  const Eigen::Index n = matrix.rows();
  for (Eigen::Index k = 0; k < n; k += kPanel) {
    end_lane_if_interrupted();
    const Eigen::Index width = std::min(kPanel, n - k), rest = n - k - width;
    Eigen::Ref<Eigen::MatrixXd> corner = matrix.block(k, k, width, width),
                                below = matrix.block(k + width, k, rest, width);
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(corner);
    if (rest == 0) break;
    corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(below);
    matrix.block(k + width, k + width, rest, rest).selfadjointView<Eigen::Lower>().rankUpdate(below, -1.0);
  }
}

// The inverse of the matrix with that factor.
inline Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& factor) {
  const Eigen::Index n = factor.rows();
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
  for (Eigen::Index k = 0; k < n; k += kPanel) {
    end_lane_if_interrupted();
    Eigen::Ref<Eigen::MatrixXd> columns = inverse.middleCols(k, std::min(kPanel, n - k));
    factor.triangularView<Eigen::Lower>().solveInPlace(columns);
    factor.triangularView<Eigen::Lower>().adjoint().solveInPlace(columns);
  }
  return inverse;
}

/// y = b' psi + noise. Samples are added one by one; fit() solves for b.
class LearnedSurface {
 public:
  explicit LearnedSurface(int m)
      : moments_(Eigen::VectorXd::Zero(m)), coefficients_(Eigen::VectorXd::Zero(m)), rows_(0) {}

  void add(const Eigen::VectorXd& psi, double y) {
    moments_ += y * psi;
    squares_ += y * y;
    ++rows_;
  }
  /// Forgets the samples, which will be added again with other values. The next fit starts from the last estimate.
  void forget() {
    moments_.setZero();
    squares_ = 0.0;
    rows_ = 0;
  }

  /// `gram`: sum psi psi' (m x m) over the samples; there must be at least one. Ridge and variance of the noise move by
  /// a few steps to the fixed point of their evidence (learned_ridge).
  void fit(const Eigen::MatrixXd& gram) {
    constexpr int kSteps = 3;
    constexpr double kLeastVariance = 1e-10;  // of a value without noise, such as a cost in regime A
    const Eigen::Index slopes = gram.rows() - 1;
    for (int step = 0; step < kSteps; ++step) {
      Eigen::MatrixXd precision = gram / variance_;
      precision.diagonal().tail(slopes).array() += ridge_;
      factorise(precision);
      const Eigen::MatrixXd covariance = inverse_of(precision);
      coefficients_ = covariance * moments_ / variance_;
      const double trace = covariance.diagonal().tail(slopes).sum();
      const double residuals = squares_ - 2.0 * coefficients_.dot(moments_) + coefficients_.dot(gram * coefficients_);
      const double determined = 1.0 + static_cast<double>(slopes) - ridge_ * trace;
      variance_ = std::max(kLeastVariance, residuals / std::max(0.5 * rows_, rows_ - determined));
      ridge_ = learned_ridge(ridge_, static_cast<int>(slopes), coefficients_.tail(slopes).squaredNorm(), trace);
    }
  }

  const Eigen::VectorXd& coefficients() const { return coefficients_; }
  double ridge() const { return ridge_; }
  double variance() const { return variance_; }

 private:
  Eigen::VectorXd moments_, coefficients_;
  int rows_;
  double squares_ = 0.0, ridge_ = 1000.0, variance_ = 1.0;
};

}  // namespace pandora::rivals
