// Intervals by computing an estimate repeatedly: on replications drawn with replacement (the bootstrap), or without
// each of them in turn (the jackknife). Replications are the unit, as in statistics.hpp. Also the exponent of a power
// law, the slope of a straight line in two logarithms.
#pragma once

#include <cmath>
#include <vector>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {

/// NaN where the interval is not known.
struct AsymmetricInterval {
  double low = kUnknown, high = kUnknown;

  bool known() const { return std::isfinite(low) && std::isfinite(high); }
};

/// 95% interval of the mean by the studentised bootstrap. In place of Student's t quantiles it uses those of (mean -
/// estimate) / standard error over kResamples samples drawn with replacement, with a fixed seed. It follows skewed
/// data, for which the t interval is too short on one side. NaN for fewer than kLeastForBootstrap values, or for values
/// that are nearly all equal.
AsymmetricInterval bootstrap_interval(const std::vector<double>& values);
inline constexpr int kResamples = 1999;
inline constexpr std::size_t kLeastForBootstrap = 10;

/// Whether the two intervals tell different things: one contains 0 and the other does not, or an end differs by more
/// than a fifth of the half-width. False if one is not known.
bool differ(const Estimate& symmetric, const AsymmetricInterval& bootstrap);

/// a / b of two means over the same replications, with the 95% interval of Student's t and the jackknife for its
/// logarithm.
struct RatioOfMeans {
  double ratio = kUnknown;
  AsymmetricInterval interval;
};
/// NaN unless both means are above 0; no interval unless they also are without each single replication.
RatioOfMeans ratio_of_means(const CrossFit& a, const CrossFit& b);

/// The exponent of a power law that is fitted to the mean of curves over replications: curves[r][k] at x[k], over x[k]
/// >= from (least squares of logarithms). The half-width is the jackknife's over replications with Student's t. The
/// residuals around the line cannot give it, because points of one curve are sums that share their periods. NaN if
/// there is no fit: fewer than three points with y > 0, or all with one x.
Estimate growth_exponent(const std::vector<double>& x, const std::vector<std::vector<double>>& curves, double from);

}  // namespace pandora
