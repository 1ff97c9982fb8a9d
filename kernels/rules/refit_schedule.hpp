// When rho_hat is set to the minimiser of the index loss over all past samples, (eq:known-theta-rho-estimator) or
// (eq:hat:rho:at).
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

struct RefitSchedule {
  enum class Kind { every, geometric, tracking };

  Kind kind = Kind::geometric;
  int every = 1;        ///< Kind::every: all boxes, at the end of every k-th period
  double growth = 1.5;  ///< Kind::geometric: a box, when n >= growth * n at its last refit

  /// Whether a box with n samples, last solved at n_last, is solved after a new sample of its own. `tracking` solves
  /// exactly at every sample up to 200, then whenever the samples have grown by 10%.
  PANDORA_HD bool due(int n, int n_last) const {
    return (kind == Kind::tracking && n <= kTrackingExact) || jointly_due(n, n_last);
  }
  /// The same for a shrunk fit, where n counts the samples of all boxes. `tracking` does not solve at every sample
  /// there.
  PANDORA_HD bool jointly_due(int n, int n_last) const {
    if (kind == Kind::every) return false;
    return n >= (kind == Kind::tracking ? kTrackingGrowth : growth) * n_last - 1e-9;  // 1.1 x 50 exceeds 55 in double
  }
  /// Whether `period` (1, 2, ...) ends with a solve of all boxes.
  PANDORA_HD bool due_in_period(int period) const { return kind == Kind::every && period % every == 0; }

  static constexpr int kTrackingExact = 200;
  static constexpr double kTrackingGrowth = 1.1;
  /// Whether `tracking` rebuilds Hinv and M after an exact solve with n samples; between rebuilds, rank-one updates
  /// keep them current. A rebuild costs n m^2, a solve only a few times n m. While every sample brings an exact solve,
  /// only moves of theta_hat use them.
  PANDORA_HD bool curvature_due(int n, int n_last, bool theta_moves) const {
    return n >= kCurvatureGrowth * n_last - 1e-9 && (theta_moves || n >= kTrackingExact);
  }

  static constexpr double kCurvatureGrowth = 2.0;
};

/// When theta_hat is set to the solution of (eq:hat:theta:def) over all deployed samples. It does not depend on the
/// schedule of rho_hat.
struct RewardSchedule {
  double growth = 1.05;  ///< solved when n >= growth * n at its last solve; 1: at every sample
  bool steps = true;     ///< whether theta_hat takes a Newton step at every sample between solves

  PANDORA_HD bool due(int n, int n_last) const { return n >= growth * n_last - 1e-9; }
};

}  // namespace pandora
