// Two-level shrinkage (kernels/rules/shrinkage.hpp) with one dense Hessian over all boxes, in double: the plain form
// that the fast engine's is compared with.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "host/reference/index_fit.hpp"
#include "kernels/rules/shrinkage.hpp"

namespace pandora {

struct ShrunkFit {
  JointState state = {};
  Eigen::MatrixXd covariance;  ///< C, A m x A m: the inverse Hessian of the last step

  /// The prior covariance; no samples.
  void start(const LaneSpec& spec, int A, int m, double ridge);
  /// The box's own part of C, (m x m).
  auto own(int a) { return covariance.block(a * m_, a * m_, m_, m_); }
  /// Newton steps from `rho` (A vectors of m), after each of which ridges and dispersions are learned. Throws
  /// LaneFailure if the Hessian is not positive definite or a number is not finite. Returns the number of steps, at
  /// most `most_steps`; 0: as many as the spec says.
  int refit(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
            const std::vector<Eigen::VectorXd*>& rho, int most_steps = 0);

  /// The objective under the present ridges and dispersions.
  double objective(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                   const std::vector<Eigen::VectorXd*>& rho) const;
  /// Its gradient; A vectors of m on top of each other.
  Eigen::VectorXd gradient(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                           const std::vector<Eigen::VectorXd*>& rho) const;

 private:
  Eigen::MatrixXd penalty() const;  // A m x A m
  void measure_features(const Contexts& contexts, const std::vector<const IndexSamples*>& samples);

  Shrinkage shrinkage_ = Shrinkage::two_level;
  int A_ = 0, m_ = 0, steps_ = 3;
  double ridge_ = 1.0, tolerance_ = 0.0;
};

}  // namespace pandora
