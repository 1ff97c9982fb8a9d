// Two-level shrinkage: the slopes of the boxes' index parameters rho_a = (rho_a0, r_a), intercept and slopes, share a
// common part. The data says how large it is. The fit minimises over all boxes together
//
//   sum_a (1/kappa_a) sum_s l_s(rho_a' psi_s) + eta_1/2 sum_a rho_a0^2
//     + lambda_d/2 sum_a |r_a|^2 + (lambda_m - lambda_d)/(2A) |sum_a r_a|^2
//
// which puts a ridge lambda_m on the mean slope (A times) and lambda_d on the deviations from it. Where boxes are tied
// (Shrinkage::tied), the mean is that of each group, with the group's size in place of A, and lambda_d is so large that
// the slopes of a group are equal. Both are learned by
// the fixed point of their evidence, and so is the dispersion kappa_a of a box's moments. docs/shrinkage.md has the
// derivation. The weak prior of the ridges is in units of the features' own scale, so that multiplying features by a
// factor does not change the problem.
#pragma once

#include "kernels/rules/learned_ridge.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// lambda_d of tied slopes, for features from U[-1, 1]: deviations are below 1e-5 of what samples ask for.
inline constexpr double kTiedRidge = 1e7;

/// The groups of boxes that have a mean slope each: one of all boxes or, where the lane's slopes are tied, those of
/// LaneSpec::tie.
template <bool kTied>
class SlopeGroups {
 public:
  PANDORA_HD SlopeGroups(const LaneSpec& spec, int A) : spec_(&spec), A_(A) {}

  PANDORA_HD int count() const {
    int most = 0;
    for (int a = 0; a < A_; ++a) most = spec_->tie[a] > most ? spec_->tie[a] : most;
    return most + 1;
  }
  PANDORA_HD int of(int a) const { return spec_->tie[a]; }
  PANDORA_HD bool same(int a, int b) const { return spec_->tie[a] == spec_->tie[b]; }
  /// How many boxes the group of box a has.
  PANDORA_HD int size(int a) const { return spec_->tied[a]; }
  /// A box of the group.
  PANDORA_HD int first(int group) const {
    int a = 0;
    while (of(a) != group) ++a;
    return a;
  }

 private:
  const LaneSpec* spec_;
  int A_;
};

/// One group of all boxes. It looks nothing up, so that the fit of one group is as short as if there were no groups.
template <>
class SlopeGroups<false> {
 public:
  PANDORA_HD SlopeGroups(const LaneSpec&, int A) : A_(A) {}

  static PANDORA_HD constexpr int count() { return 1; }
  static PANDORA_HD constexpr int of(int) { return 0; }
  static PANDORA_HD constexpr bool same(int, int) { return true; }
  PANDORA_HD int size(int) const { return A_; }
  static PANDORA_HD constexpr int first(int) { return 0; }

 private:
  int A_;
};

/// The state of a lane that fits jointly, beside its rho_hat and C_aa, box a's block of the inverse Hessian
/// (kernels/solve/joint_factor.hpp).
struct JointState {
  double ridge_mean, ridge_own;   ///< lambda_m, lambda_d
  double dispersion[kMaxBoxes];   ///< kappa_a
  int samples, samples_at_solve;  ///< where samples fade, the rounded sum of their weights
  int unsolved;                   ///< refits that ended at their greatest number of steps (RefitPlan)
  int boxes[kMaxBoxes];           ///< by box: how many boxes have a mean slope together with it
  double squares;                 ///< sum of |slopes of psi|^2 over the samples of the last solve
  double scale;                   ///< three times the mean square of a feature in them: 1 for features from U[-1, 1]

  /// Before any sample.
  PANDORA_HD void start(const LaneSpec& spec, int A) {
    for (int a = 0; a < A; ++a) boxes[a] = spec.shrinkage == Shrinkage::tied ? spec.tied[a] : A;
    ridge_mean = spec.ridge_mean;
    ridge_own = spec.shrinkage == Shrinkage::fixed  ? spec.ridge_own
                : spec.shrinkage == Shrinkage::tied ? kTiedRidge
                                                    : spec.ridge_mean;
    for (double& kappa : dispersion) kappa = dispersion_of(0, 0.0, 0.0, 0.0);
    samples = samples_at_solve = unsolved = 0;
    squares = 0.0;
    scale = 1.0;
  }

  /// Before any solve: takes the ridges and dispersions that another lane has learned, for features of this scale.
  PANDORA_HD void start_at(const JointState& near) {
    ridge_mean = near.ridge_mean / near.scale;
    ridge_own = near.ridge_own / near.scale;
    for (int a = 0; a < kMaxBoxes; ++a) dispersion[a] = near.dispersion[a];
  }

  /// Before a solve, with `squares` over all `kept` samples: scales the initial ridges to the features, if nothing has
  /// been learned about them yet. Otherwise raises them to the least ridge of this scale: where features have grown a
  /// lot, the first Hessian would be singular. Fixed ridges are not scaled. `slopes`: how many a box has.
  PANDORA_HD void learn_scale(Shrinkage shrinkage, int slopes, int kept) {
    if (shrinkage == Shrinkage::fixed || !(squares > 0.0)) return;
    scale = 3.0 * squares / (static_cast<double>(kept) * slopes);
    const bool learned = samples_at_solve > 0;
    const double least = learned ? kLeastRidge * scale : 0.0, factor = learned ? 1.0 : scale;
    ridge_mean = ridge_mean * factor < least ? least : ridge_mean * factor;
    ridge_own = ridge_own * factor < least ? least : ridge_own * factor;
  }

  /// kappa_a of n samples with sums of m^2 and h, where gamma_a parameters are determined by them: m's variance divided
  /// by its slope. A prior worth a few samples gives 0.08 where there are none.
  static PANDORA_HD double dispersion_of(int n, double moment_squares, double curvature, double determined) {
    const double left = n == 0 ? 1.0 : 1.0 - determined / n;
    const double kappa = (0.4 + moment_squares / (left > 0.5 ? left : 0.5)) / (5.0 + curvature);
    return kappa < 0.5 ? kappa : 0.5;
  }
};

/// Sums over the slopes after a Newton step: squares, and traces of their covariance. They exist for the mean (times
/// sqrt(A)) and for all boxes; with groups the means' are added up.
struct SlopeSums {
  double mean_square, square;  ///< |sum_a r_a|^2 / A and sum_a |r_a|^2
  double mean_trace, trace;
};

/// How a refit proceeds. A refit with mostly new samples (a first fit, one after a calibration or of a table, or after
/// new costs) has far to go and is solved to the end: until the squared decrement g' C g, under an inverse Hessian that
/// was computed afresh, is below the tolerance of other solves (index_tolerance()). Other refits start near their end
/// and stop by the lane's rules.
struct RefitPlan {
  /// For a refit that is solved to the end. After kLearningSteps ridges and dispersions stand still: they may have no
  /// fixed point where samples change sides, and the remaining problem is convex. kMostSteps is a guard.
  static constexpr int kLearningSteps = 50, kMostSteps = 200;
  static constexpr double kTolerance = 1e-6;

  bool whole;       ///< solved to the end
  bool every_step;  ///< the Hessian is formed in every step, because samples are few for so many parameters
  double tolerance;
  int most_steps;

  /// For n samples, when the last refit had `before`.
  PANDORA_HD RefitPlan(const LaneSpec& spec, int n, int before, int parameters)
      : whole(n / 2 > before),
        every_step(n < 3 * parameters),
        tolerance(whole && kTolerance < spec.joint_tolerance ? kTolerance : spec.joint_tolerance),
        most_steps(whole ? kMostSteps : spec.joint_steps) {}

  /// Whether a step may use the inverse Hessian of an earlier step. It may if the step would move all estimates
  /// together by at most one standard deviation, or by far less than the step before. Both arguments are squared, as
  /// -gradient' direction. The end of a whole solve asks for a tenth of a standard deviation.
  PANDORA_HD bool inverse_serves(double decrement, double before) const {
    return whole ? decrement <= 0.01 : decrement <= 1.0 || decrement <= 0.25 * before;
  }

  /// Whether ridges and dispersions move after a step. They do not after the last step of a whole solve, so that the
  /// solution belongs to them.
  PANDORA_HD bool learns(int step, bool last) const { return !whole || (!last && step <= kLearningSteps); }
};

/// Whether the last step of a refit is taken without a check of its end. This is so if it moves all estimates together
/// by at most one standard deviation.
PANDORA_HD inline bool step_is_trusted(double decrement) {
  return decrement <= 1.0;
}

/// tr C of `size` parameters after their ridge has moved by `moved` since C was computed, as if the samples told
/// equally much of each parameter: with H = h I, size / tr C = h + ridge. If ridges stand still, this is tr C itself,
/// so fixed points are the same as with C computed afresh.
PANDORA_HD inline double carried_trace(double trace, int size, double moved) {
  return trace > 0.0 && size > 0 ? trace * size / (size + trace * moved) : 0.0;
}

/// Traces of the slopes' covariance, and the ridges under which they were computed.
struct SlopeTraces {
  double ridge_mean, ridge_own;
  double mean, all;  ///< SlopeSums::mean_trace, SlopeSums::trace

  /// The sums under the ridges of `state`. `slopes`: how many a box has.
  PANDORA_HD SlopeSums carried(const JointState& state, int A, int slopes, int groups = 1) const {
    SlopeSums sums{};
    sums.mean_trace = carried_trace(mean, groups * slopes, state.ridge_mean - ridge_mean);
    sums.trace = sums.mean_trace + carried_trace(all - mean, (A - groups) * slopes, state.ridge_own - ridge_own);
    return sums;
  }
};

/// Sets the ridges for the next step. `slopes`: how many a box has.
PANDORA_HD inline void learn_ridges(JointState& state, Shrinkage shrinkage, int A, int slopes, const SlopeSums& sums,
                                    int groups = 1) {
  if (shrinkage == Shrinkage::fixed) return;
  if (shrinkage == Shrinkage::tied) {
    state.ridge_mean = learned_ridge(state.ridge_mean, groups * slopes, sums.mean_square, sums.mean_trace, state.scale);
    return;
  }
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
