// A number as a linear function of psi(x), by least squares with a ridge on the slopes that is learned with it.
#pragma once

#include <Eigen/Core>

namespace pandora::policies {

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
  /// Before the samples are added anew, with other values: the last estimate is where the next fit starts.
  void forget() {
    moments_.setZero();
    squares_ = 0.0;
    rows_ = 0;
  }

  /// `gram`: sum psi psi' (m x m) of the samples, of which there is one at least. Ridge and variance of the noise move
  /// by a few steps to the fixed point of their evidence (learned_ridge of kernels/rules/shrinkage.hpp).
  void fit(const Eigen::MatrixXd& gram);

  const Eigen::VectorXd& coefficients() const { return coefficients_; }
  double ridge() const { return ridge_; }
  double variance() const { return variance_; }

 private:
  Eigen::VectorXd moments_, coefficients_;
  int rows_;
  double squares_ = 0.0, ridge_ = 1000.0, variance_ = 1.0;
};

}  // namespace pandora::policies
