// The statistics behind comparisons of policies. Replications are the unit: independent of each other, and within one
// all policies share its tape.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace pandora {

/// What cannot be told, in place of a number.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Quantile of Student's t. `probability` in (0, 1), `degrees_of_freedom` above 0.
double student_t_quantile(double probability, double degrees_of_freedom);
/// Quantile of the beta distribution. `probability` in (0, 1), `a` and `b` above 0.
double beta_quantile(double probability, double a, double b);
/// Two-sided p value of a statistic: NaN for NaN, 0 for an infinite one.
double student_t_p_value(double statistic, double degrees_of_freedom);

/// What a standard error is multiplied by for half of a 95% interval: Student's t. NaN without a degree of freedom.
double student_factor_95(double degrees_of_freedom);

/// A mean with the half-width of its 95% interval and its standard error. NaN where nothing is known, which of a
/// single replication is all but the mean.
struct Estimate {
  double mean = 0.0;
  double half_width_95 = kUnknown;
  double standard_error = kUnknown;
};
/// The interval of Student's t.
Estimate student_estimate(double mean, double standard_error, double degrees_of_freedom);
/// Of the mean of independent values.
Estimate estimate(const std::vector<double>& values);

struct MeanWithError {
  double mean = 0.0, error = 0.0;  ///< error: the mean's standard error
};
MeanWithError mean_with_error(const std::vector<double>& values);

/// Third central moment over the power 3/2 of the second; 0 of values that are all equal.
double skewness(const std::vector<double>& values);

/// The t at which Student's t is what (mean - expectation) / standard error is of n values of this skewness: Hall's
/// monotone transformation (On the removal of skewness by transformation, 1992).
double unskewed(double quantile, double skewness, std::size_t n);

/// How many values a mean of this skewness takes before a bound that is computed from them can be trusted: Cochran's
/// rule, n > 25 skewness^2. Of 50 to 2,000 values of exponential, Pareto (tails of 1.5 and 2.5) and lognormal laws
/// (sigma up to 2.5), bounds by unskewed() that are to be exceeded in 5% are so where the rule is kept in at
/// most 6% of all samples; in all, in up to 24%.
double least_values(double skewness);

/// Mean over n paired differences with the 95% interval of Student's t, and what else they tell. NaN where n is too
/// small to say.
struct PairedDifference {
  std::size_t n = 0;
  Estimate difference;       ///< mean of a - b
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
