// Two-level shrinkage: how the slopes of the boxes' index parameters share a common part, and what is learned about how
// much of it. rho_a = (rho_a0, r_a) with intercept and slopes. Over all boxes together,
//
//   sum_a (1/kappa_a) sum_s l_s(rho_a' psi_s) + eta_1/2 sum_a rho_a0^2
//     + lambda_d/2 sum_a |r_a|^2 + (lambda_m - lambda_d)/(2A) |sum_a r_a|^2
//
// is minimised: a ridge lambda_m on the mean slope (A times) and lambda_d on the deviations from it. Both are learned
// by the fixed point of their evidence, and so is the dispersion kappa_a of a box's moments. docs/beyond.md has the
// derivation. The made-up numbers that hold the ridges are in units of the features' own scale, so that features times
// a factor are the same problem.
#pragma once

#include "kernels/rules/learned_ridge.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// What a lane that fits jointly carries beside its rho_hat and C_aa.
struct JointState {
  double ridge_mean, ridge_own;   ///< lambda_m, lambda_d
  double dispersion[kMaxBoxes];   ///< kappa_a
  int samples, samples_at_solve;  ///< where samples fade, the sum of their weights, rounded
  int unsolved;                   ///< refits that ended at their greatest number of steps (RefitPlan)
  double squares;                 ///< sum of |slopes of psi|^2 over the samples of the last solve
  double scale;                   ///< three times the mean square of a feature in them: 1 for features from U[-1, 1]

  /// Before any sample.
  PANDORA_HD void start(const LaneSpec& spec) {
    ridge_mean = spec.ridge_mean;
    ridge_own = spec.shrinkage == Shrinkage::fixed ? spec.ridge_own : spec.ridge_mean;
    for (double& kappa : dispersion) kappa = dispersion_of(0, 0.0, 0.0, 0.0);
    samples = samples_at_solve = unsolved = 0;
    squares = 0.0;
    scale = 1.0;
  }

  /// Before any solve: ridges and dispersions that another one has learned, for features of this scale.
  PANDORA_HD void start_at(const JointState& near) {
    ridge_mean = near.ridge_mean / near.scale;
    ridge_own = near.ridge_own / near.scale;
    for (int a = 0; a < kMaxBoxes; ++a) dispersion[a] = near.dispersion[a];
  }

  /// Before a solve, with `squares` over all `kept` samples: ridges that nothing has been learned of yet are brought to
  /// the features' scale. Ridges that are fixed are taken as they are. `slopes`: of a box.
  PANDORA_HD void learn_scale(Shrinkage shrinkage, int slopes, int kept) {
    if (shrinkage == Shrinkage::fixed || !(squares > 0.0)) return;
    scale = 3.0 * squares / (static_cast<double>(kept) * slopes);
    if (samples_at_solve > 0) return;
    ridge_mean *= scale;
    ridge_own *= scale;
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

/// How a refit goes. Where most of its samples are new (a first fit, one after a calibration or of a table, new costs)
/// it has far to go and is solved to the end: until the squared decrement g' C g is below the tolerance of other solves
/// (index_tolerance()) under an inverse Hessian that was formed afresh. Other refits start near their end and stop as
/// the lane's rules say.
struct RefitPlan {
  /// Of a refit that is solved to the end: from so many steps on ridges and dispersions stand still, as their fixed
  /// point may be none where samples change sides, while what then remains is a convex problem; and its guard.
  static constexpr int kLearningSteps = 50, kMostSteps = 200;
  static constexpr double kTolerance = 1e-6;

  bool whole;       ///< solved to the end
  bool every_step;  ///< the Hessian is formed in every step: samples are few for so many parameters
  double tolerance;
  int most_steps;

  /// Of n samples, of which the last refit had `before`.
  PANDORA_HD RefitPlan(const LaneSpec& spec, int n, int before, int parameters)
      : whole(n / 2 > before),
        every_step(n < 3 * parameters),
        tolerance(whole && kTolerance < spec.joint_tolerance ? kTolerance : spec.joint_tolerance),
        most_steps(whole ? kMostSteps : spec.joint_steps) {}

  /// Whether a step may take its direction from the inverse Hessian of a step before: where that promises to move all
  /// estimates together by at most a standard deviation of theirs, or by far less than the step before did. Both are
  /// squared, as -gradient' direction. The end of a whole solve wants more: a tenth of a standard deviation.
  PANDORA_HD bool inverse_serves(double decrement, double before) const {
    return whole ? decrement <= 0.01 : decrement <= 1.0 || decrement <= 0.25 * before;
  }

  /// Whether ridges and dispersions move after a step. Where the last step of a whole solve has been taken they stay
  /// those that it was solved under.
  PANDORA_HD bool learns(int step, bool last) const { return !whole || (!last && step <= kLearningSteps); }
};

/// Whether the last step of a refit is taken as it is, without a look at where it leads: it moves all estimates
/// together by at most a standard deviation of theirs.
PANDORA_HD inline bool step_is_trusted(double decrement) {
  return decrement <= 1.0;
}

/// tr C of `size` parameters when their ridge has moved by `moved` since C was found, as if the samples told as much of
/// one of them as of another: with H = h I, size / tr C = h + ridge. Where ridges stand still it is tr C, so that a
/// fixed point of ridges learned from it is one of those learned from C afresh.
PANDORA_HD inline double carried_trace(double trace, int size, double moved) {
  return trace > 0.0 && size > 0 ? trace * size / (size + trace * moved) : 0.0;
}

/// Traces of the slopes' covariance, and the ridges that it was found under.
struct SlopeTraces {
  double ridge_mean, ridge_own;
  double mean, all;  ///< SlopeSums::mean_trace, SlopeSums::trace

  /// Under the ridges of `state`; `slopes`: of a box.
  PANDORA_HD SlopeSums carried(const JointState& state, int A, int slopes) const {
    SlopeSums sums{};
    sums.mean_trace = carried_trace(mean, slopes, state.ridge_mean - ridge_mean);
    sums.trace = sums.mean_trace + carried_trace(all - mean, (A - 1) * slopes, state.ridge_own - ridge_own);
    return sums;
  }
};

/// After a step: the ridges for the next one. `slopes`: of a box.
PANDORA_HD inline void learn_ridges(JointState& state, Shrinkage shrinkage, int A, int slopes, const SlopeSums& sums) {
  if (shrinkage == Shrinkage::fixed) return;
  if (shrinkage == Shrinkage::one_level || A == 1) {
    state.ridge_mean = state.ridge_own =
        learned_ridge(state.ridge_mean, A * slopes, sums.square, sums.trace, state.scale);
    return;
  }
  state.ridge_mean = learned_ridge(state.ridge_mean, slopes, sums.mean_square, sums.mean_trace, state.scale);
  const double own = sums.square - sums.mean_square;
  state.ridge_own = learned_ridge(state.ridge_own, (A - 1) * slopes, own < 0.0 ? 0.0 : own,
                                  sums.trace - sums.mean_trace, state.scale);
}

}  // namespace pandora
