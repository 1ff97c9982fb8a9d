#include "host/policies/learned_surface.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "kernels/rules/shrinkage.hpp"

namespace pandora::policies {

void LearnedSurface::fit(const Eigen::MatrixXd& gram) {
  constexpr int kSteps = 3;
  constexpr double kLeastVariance = 1e-10;  // of a value without noise, such as a cost of regime A
  const Eigen::Index slopes = gram.rows() - 1;
  for (int step = 0; step < kSteps; ++step) {
    Eigen::MatrixXd precision = gram / variance_;
    precision.diagonal().tail(slopes).array() += ridge_;
    const Eigen::MatrixXd covariance = precision.llt().solve(Eigen::MatrixXd::Identity(gram.rows(), gram.cols()));
    coefficients_ = covariance * moments_ / variance_;
    const double trace = covariance.diagonal().tail(slopes).sum();
    const double residuals = squares_ - 2.0 * coefficients_.dot(moments_) + coefficients_.dot(gram * coefficients_);
    const double determined = 1.0 + static_cast<double>(slopes) - ridge_ * trace;
    variance_ = std::max(kLeastVariance, residuals / std::max(0.5 * rows_, rows_ - determined));
    ridge_ = learned_ridge(ridge_, static_cast<int>(slopes), coefficients_.tail(slopes).squaredNorm(), trace);
  }
}

}  // namespace pandora::policies
