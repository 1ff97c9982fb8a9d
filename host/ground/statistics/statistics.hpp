// The statistics behind comparisons of policies. Replications are the unit: they are independent of each other, and
// within one all policies share its tape.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace pandora {

/// Stands for a number that is not known.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Quantile of Student's t. `probability` in (0, 1), `degrees_of_freedom` above 0.
double student_t_quantile(double probability, double degrees_of_freedom);
/// Quantile of the beta distribution. `probability` in (0, 1), `a` and `b` above 0.
double beta_quantile(double probability, double a, double b);
/// Two-sided p value of a statistic: NaN for NaN, 0 for an infinite one.
double student_t_p_value(double statistic, double degrees_of_freedom);

/// The factor from a standard error to half of a 95% interval, by Student's t. NaN without a degree of freedom.
double student_factor_95(double degrees_of_freedom);

/// A mean with the half-width of its 95% interval and its standard error. Unknown numbers are NaN; from a single
/// replication only the mean is known.
struct Estimate {
  double mean = 0.0;
  double half_width_95 = kUnknown;
  double standard_error = kUnknown;
};
/// The interval of Student's t.
Estimate student_estimate(double mean, double standard_error, double degrees_of_freedom);
/// The estimate of the mean of independent values.
Estimate estimate(const std::vector<double>& values);

struct MeanWithError {
  double mean = 0.0, error = 0.0;  ///< error: the mean's standard error
};
MeanWithError mean_with_error(const std::vector<double>& values);

/// Third central moment divided by the second to the power 3/2; 0 if all values are equal.
double skewness(const std::vector<double>& values);

/// The t statistic of n values with this skewness that corresponds to a quantile of Student's t, by Hall's monotone
/// transformation (On the removal of skewness by transformation, 1992).
double unskewed(double quantile, double skewness, std::size_t n);

/// How many values of this skewness a mean needs before a bound computed from them can be trusted: Cochran's rule, n >
/// 25 skewness^2. In trials with 50 to 2,000 values of exponential, Pareto (tails of 1.5 and 2.5) and lognormal laws
/// (sigma up to 2.5), bounds by unskewed() should have been exceeded in 5% of samples. They were exceeded, with the
/// rule kept, in at most 6% of all samples, and without regard to the rule in up to 24%.
double least_values(double skewness);

/// The mean of n paired differences with the 95% interval of Student's t, and further numbers. NaN where n is too
/// small.
struct PairedDifference {
  std::size_t n = 0;
  Estimate difference;       ///< mean of a - b
  double p = 0.0;            ///< two-sided, for no difference
  double share_below = 0.0;  ///< share of replications in which a < b; ties count half
  /// (var a + var b) / var(a - b): how many times the replications an unpaired comparison would need.
  double relative_efficiency = 0.0;
};
/// `a` and `b` must have the same length.
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b);

/// Holm's adjustment: if all p values below alpha are rejected, the probability of any false rejection is at most
/// alpha. NaN stays NaN and is not counted.
std::vector<double> holm_adjusted(const std::vector<double>& p);

/// The estimated result of "the best of k hyperparameters", chosen on other replications than those on which it is
/// judged.
struct CrossFit {
  double mean = 0.0;
  /// The mean without each replication in turn, on the same splits, for the jackknife.
  std::vector<double> without;
};

/// regrets[h][r]: hyperparameter h in replication r. The replications are split into halves. The hyperparameter with
/// the least mean on one half is judged on the other, and the other way round. This is averaged over kSplits random
/// splits with a fixed seed. Empty with NaN for fewer than four replications.
CrossFit cross_fit(const std::vector<std::vector<double>>& regrets);
inline constexpr int kSplits = 200;

/// Mean and 95% half-width by the jackknife and Student's t. The coverage is nominal where hyperparameters differ or
/// move together, as lanes on one tape do. The interval is too wide (98%) where all are equally good and independent.
Estimate jackknife_estimate(const CrossFit& fit);

/// The fit of a - b, both over the same replications.
CrossFit difference(const CrossFit& a, const CrossFit& b);

}  // namespace pandora
