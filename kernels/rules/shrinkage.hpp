// Two-level shrinkage: how the slopes of the boxes' index parameters share a common part, and what is learned about how
// much of it. rho_a = (rho_a0, r_a) with intercept and slopes. Over all boxes together,
//
//   sum_a (1/kappa_a) sum_s l_s(rho_a' psi_s) + eta_1/2 sum_a rho_a0^2
//     + lambda_d/2 sum_a |r_a|^2 + (lambda_m - lambda_d)/(2A) |sum_a r_a|^2
//
// is minimised: a ridge lambda_m on the mean slope (A times) and lambda_d on the deviations from it. Both are learned
// by the fixed point of their evidence, and so is the dispersion kappa_a of a box's moments. docs/beyond.md has the
// derivation.
#pragma once

#include "kernels/rules/spec.hpp"

namespace pandora {

/// Learned ridges lie between these.
inline constexpr double kLeastRidge = 0.5, kLargestRidge = 1e7;

/// What a lane that fits jointly carries beside its rho_hat and C_aa.
struct JointState {
  double ridge_mean, ridge_own;  ///< lambda_m, lambda_d
  double dispersion[kMaxBoxes];  ///< kappa_a
  int samples, samples_at_solve;

  /// Before any sample.
  PANDORA_HD void start(const LaneSpec& spec) {
    ridge_mean = spec.ridge_mean;
    ridge_own = spec.shrinkage == Shrinkage::fixed ? spec.ridge_own : spec.ridge_mean;
    for (double& kappa : dispersion) kappa = dispersion_of(0, 0.0, 0.0, 0.0);
    samples = samples_at_solve = 0;
  }

  /// kappa_a of n samples with sums of m^2 and h, and gamma_a parameters that they have determined: m's variance over
  /// its slope, held by a few made-up samples, so that none gives 0.08.
  static PANDORA_HD double dispersion_of(int n, double moment_squares, double curvature, double determined) {
    const double left = n == 0 ? 1.0 : 1.0 - determined / n;
    const double kappa = (0.4 + moment_squares / (left > 0.5 ? left : 0.5)) / (5.0 + curvature);
    return kappa < 0.5 ? kappa : 0.5;
  }
};

/// What a Newton step has found of the slopes: squares and traces of their covariance, of the mean (times sqrt(A)) and
/// of all boxes.
struct SlopeSums {
  double mean_square, square;  ///< |sum_a r_a|^2 / A and sum_a |r_a|^2
  double mean_trace, trace;
};

/// The ridge of `size` parameters from their squares, and from how many of them the data has determined.
PANDORA_HD inline double learned_ridge(double ridge, int size, double square, double trace) {
  double determined = size - ridge * trace;
  determined = determined < 0.0 ? 0.0 : determined > size ? size : determined;
  const double learned = (determined + 0.2) / (square + 2e-5);
  return learned < kLeastRidge ? kLeastRidge : learned > kLargestRidge ? kLargestRidge : learned;
}

/// After a step: the ridges for the next one. `slopes`: of a box.
PANDORA_HD inline void learn_ridges(JointState& state, Shrinkage shrinkage, int A, int slopes, const SlopeSums& sums) {
  if (shrinkage == Shrinkage::fixed) return;
  if (shrinkage == Shrinkage::one_level || A == 1) {
    state.ridge_mean = state.ridge_own = learned_ridge(state.ridge_mean, A * slopes, sums.square, sums.trace);
    return;
  }
  state.ridge_mean = learned_ridge(state.ridge_mean, slopes, sums.mean_square, sums.mean_trace);
  const double own = sums.square - sums.mean_square;
  state.ridge_own =
      learned_ridge(state.ridge_own, (A - 1) * slopes, own < 0.0 ? 0.0 : own, sums.trace - sums.mean_trace);
}

}  // namespace pandora
