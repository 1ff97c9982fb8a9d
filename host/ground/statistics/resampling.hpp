// Intervals that are found by computing an estimate again: on replications drawn with replacement (the bootstrap), or
// without each of them in turn (the jackknife). Replications are the unit, as in statistics.hpp. The exponent of a
// power law, as a straight line in two logarithms shows it.
#pragma once

#include <limits>
#include <vector>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {

/// NaN where nothing is known.
struct AsymmetricInterval {
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();

  bool known() const;
};

/// 95% interval of the mean by the studentised bootstrap: the quantiles of (mean - estimate) / standard error over
/// kResamples samples drawn with replacement, with a fixed seed, in place of those of Student's t. It follows a law
/// that is skewed, where the t interval is too short on one side. Not known of fewer than kLeastForBootstrap values, or
/// of values that are nearly all equal.
AsymmetricInterval bootstrap_interval(const std::vector<double>& values);
inline constexpr int kResamples = 1999;
inline constexpr std::size_t kLeastForBootstrap = 10;

/// Whether the two tell different things: one contains 0 and the other does not, or an end differs by more than a fifth
/// of the half-width. False where one is not known.
bool differ(const Estimate& symmetric, const AsymmetricInterval& bootstrap);

/// a / b of two means over the same replications, with the 95% interval of Student's t and the jackknife for its
/// logarithm.
struct RatioOfMeans {
  double ratio = std::numeric_limits<double>::quiet_NaN();
  AsymmetricInterval interval;
};
/// Not known unless both means are above 0; no interval unless they are so without each replication, too.
RatioOfMeans ratio_of_means(const CrossFit& a, const CrossFit& b);

/// The exponent of a power law that is fitted to the mean of curves over replications: curves[r][k] at x[k], over x[k]
/// >= from (least squares of logarithms). The half-width is the jackknife's over replications with
/// Student's t: points of one curve are sums that share their periods, so that residuals around the line say nothing of
/// it. NaN where there is no fit: of fewer than three points with y > 0, or all of one x.
Estimate growth_exponent(const std::vector<double>& x, const std::vector<std::vector<double>>& curves, double from);

}  // namespace pandora
