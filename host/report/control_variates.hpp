// Means that are adjusted for what else is known of the replications, and the error that is left.
#pragma once

#include <array>
#include <vector>

#include "host/ground/statistics/estimate.hpp"

namespace pandora {

/// Quantities of single replications, and a value that their mean is to be taken at.
struct Covariate {
  std::vector<double> values;  ///< n
  double at = 0.0;
  double rounding = 0.0;  ///< the value is known to this unit of its last place
};

/// A mean over n replications with what it takes to tell its error, and that of sums of such means.
struct AdjustedMean {
  Estimate mean;  ///< 1.96 standard errors; NaN where n is too small
  /// n, of sum 0: how much each replication moves the mean, scaled such that the sum of squares over n (n - 1) is the
  /// squared standard error.
  std::vector<double> error;
  /// n, of sum 0: the values less what the header explains of them, scaled such that their sample variance is that of
  /// a replication whose header is known.
  std::vector<double> residual;
  double rounding_error = 0.0;  ///< standard error from the header's rounding
};

/// The mean of `values` in a sample of which the means of `header` are known, estimated from n replications of our own:
/// their mean plus beta'(x_at - x_mean), beta by least squares. The means of `controls` are those over the law of
/// instances, so that they correct our replications' luck alone; they do not say what the other sample drew. Errors
/// count the scatter of beta (to first order, whatever the residuals' variances). Without covariates it is the plain
/// mean. Covariates that do not vary, or that others determine, are of no use and do no harm.
AdjustedMean adjusted_mean(const std::vector<double>& values, const std::vector<Covariate>& header,
                           const std::vector<Covariate>& controls);

/// Expectations of the mean, the least and the greatest of `count` independent sums of two independent uniform numbers
/// on [0, most_first] and on [0, most_second], both > 0.
std::array<double, 3> mean_least_greatest(int count, double most_first, double most_second);

}  // namespace pandora
