// The statistics behind comparisons of policies. Replications are the unit: independent of each other, and within one
// all policies share its tape.
#pragma once

#include <cstddef>
#include <vector>

#include "host/ground/statistics/estimate.hpp"

namespace pandora {

/// Mean over n paired differences with the 95% interval of Student's t, and what else they tell. NaN where n is too
/// small to say.
struct PairedDifference {
  std::size_t n = 0;
  Estimate difference;       ///< mean of a - b; half-width by t with n - 1 degrees of freedom
  double p = 0.0;            ///< two-sided, of no difference
  double share_below = 0.0;  ///< of replications in which a < b; ties count half
  /// (var a + var b) / var(a - b): an unpaired comparison would need so many times the replications.
  double relative_efficiency = 0.0;
};
/// `a` and `b` have one length.
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b);

/// Holm's adjustment: with all p values below alpha rejected, the probability of any false rejection is at most alpha.
/// NaN stays and is not counted.
std::vector<double> holm_adjusted(const std::vector<double>& p);

/// What is expected of "the best of k hyperparameters" where it is chosen on other replications than it is judged on.
struct CrossFit {
  double mean = 0.0;
  /// The mean without each replication in turn, on the same splits: its jackknife.
  std::vector<double> without;
};

/// regrets[h][r]: hyperparameter h in replication r. The replications are split into halves; the least mean on the one
/// is judged on the other, and the other way round; all of that over kSplits random splits with a fixed seed. Empty
/// with NaN for fewer than four replications.
CrossFit cross_fit(const std::vector<std::vector<double>>& regrets);
inline constexpr int kSplits = 200;

/// Mean and 95% half-width by the jackknife and Student's t. Nominal where hyperparameters differ or move together, as
/// lanes on one tape do; too wide (98%) where all are equally good and independent.
Estimate jackknife_estimate(const CrossFit& fit);

/// Of a - b, both of the same replications.
CrossFit difference(const CrossFit& a, const CrossFit& b);

}  // namespace pandora
