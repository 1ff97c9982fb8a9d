// Two-level shrinkage (kernels/rules/shrinkage.hpp) with one dense Hessian over all boxes, in double: the plain form
// with which the fast engine's is compared.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "host/lanes/estimator/index_fit.hpp"
#include "kernels/rules/shrinkage.hpp"

namespace pandora {

struct ShrunkFit {
  JointState state = {};
  Eigen::MatrixXd covariance;  ///< C, A m x A m: the inverse of the last Hessian that was formed

  /// Starts with the prior covariance and no samples.
  void start(const LaneSpec& spec, int A, int m, double ridge);
  /// The box's own part of C, (m x m).
  auto own(int a) { return covariance.block(a * m_, a * m_, m_, m_); }
  /// Takes Newton steps from `rho` (A vectors of m). After each step ridges and dispersions are learned, as RefitPlan
  /// (kernels/rules/shrinkage.hpp) says. Returns the number of steps. Throws LaneFailure if the Hessian is not positive
  /// definite or a number is not finite.
  int refit(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
            const std::vector<Eigen::VectorXd*>& rho);

 private:
  // The state of a refit besides rho.
  struct Refit {
    const Contexts& contexts;
    const std::vector<const IndexSamples*>& samples;
    const std::vector<Eigen::VectorXd*>& rho;
    RefitPlan plan;
    std::vector<double> determined = {};
    SlopeTraces traces = {};
    Eigen::VectorXd direction = {};
    double slope = 0.0;  // gradient' direction
    bool kept = false;   // whether C belongs to an earlier step's Hessian
    // For the samples at the present rho, without ridges and dispersions; empty after rho has moved.
    std::vector<Eigen::VectorXd> gradients = {};
    std::vector<IndexSums> sums = {};
  };
  Eigen::MatrixXd penalty() const;  // A m x A m
  // Whether the two boxes share a mean slope.
  bool together(int a, int b) const { return spec_.tie[a] == spec_.tie[b]; }
  Eigen::VectorXd gradient_at(Refit& refit) const;
  void invert(Refit& refit);
  void point_downhill(Refit& refit, bool afresh);
  void descend(Refit& refit, bool trusted) const;
  std::vector<double> learned_dispersions(const Refit& refit) const;
  SlopeSums sums_of(const Refit& refit) const;
  void measure_features(const Contexts& contexts, const std::vector<const IndexSamples*>& samples);

  LaneSpec spec_;  // where slopes are not tied, all boxes are in group 0
  int A_ = 0, m_ = 0, groups_ = 1;
  double ridge_ = 1.0;
};

}  // namespace pandora
