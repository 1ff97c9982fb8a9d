#include "host/ground/statistics/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

namespace pandora {
namespace {

// The standard error from the estimates without each replication.
double jackknife_error(const std::vector<double>& without) {
  return (static_cast<double>(without.size()) - 1.0) * mean_with_error(without).error;
}

// The exponent of y = factor x^exponent by least squares of log y on log x, over the points with x >= from and y > 0.
// Nothing if fewer than three points remain or all have one x.
std::optional<double> exponent_of(const std::vector<double>& x, const std::vector<double>& y, double from) {
  std::vector<double> u, v;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] > 0 && x[i] >= from && y[i] > 0 && std::isfinite(x[i]) && std::isfinite(y[i])) {
      u.push_back(std::log(x[i]));
      v.push_back(std::log(y[i]));
    }
  const auto n = static_cast<double>(u.size());
  if (u.size() < 3) return std::nullopt;
  double mean_u = 0, mean_v = 0, uu = 0, uv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    mean_u += u[i] / n;
    mean_v += v[i] / n;
  }
  for (std::size_t i = 0; i < u.size(); ++i) {
    uu += (u[i] - mean_u) * (u[i] - mean_u);
    uv += (u[i] - mean_u) * (v[i] - mean_v);
  }
  // With equal x, only the rounding of their mean would be left.
  return uu > 1e-20 * n * (1 + mean_u * mean_u) ? std::optional(uv / uu) : std::nullopt;
}

}  // namespace

AsymmetricInterval bootstrap_interval(const std::vector<double>& values) {
  constexpr std::uint64_t kSeed = 20240301;
  const std::size_t n = values.size();
  if (n < kLeastForBootstrap) return {};
  const MeanWithError own = mean_with_error(values);
  if (!(own.error > 0.0)) return {};
  std::mt19937_64 random(kSeed);
  std::vector<double> drawn(n), studentised;
  for (int resample = 0; resample < kResamples; ++resample) {
    for (double& value : drawn) value = values[random() % n];
    const MeanWithError found = mean_with_error(drawn);
    // A resample of one value only shows that the data is too coarse for this; its quotient is infinite, or counts as
    // 0.
    const double shift = found.mean - own.mean;
    studentised.push_back(found.error > 0.0 ? shift / found.error
                          : shift == 0.0    ? 0.0
                                            : std::copysign(INFINITY, shift));
  }
  std::sort(studentised.begin(), studentised.end());
  const auto quantile = [&](double p) {
    return studentised[static_cast<std::size_t>(std::lround(p * (kResamples + 1))) - 1];
  };
  const AsymmetricInterval found{own.mean - quantile(0.975) * own.error, own.mean - quantile(0.025) * own.error};
  return found.known() ? found : AsymmetricInterval{};
}

bool differ(const Estimate& symmetric, const AsymmetricInterval& bootstrap) {
  constexpr double kShare = 0.2;
  if (!bootstrap.known() || !std::isfinite(symmetric.half_width_95)) return false;
  const double low = symmetric.mean - symmetric.half_width_95, high = symmetric.mean + symmetric.half_width_95;
  const auto has_zero = [](double from, double to) { return from <= 0.0 && to >= 0.0; };
  return has_zero(low, high) != has_zero(bootstrap.low, bootstrap.high) ||
         std::max(std::abs(low - bootstrap.low), std::abs(high - bootstrap.high)) > kShare * symmetric.half_width_95;
}

RatioOfMeans ratio_of_means(const CrossFit& a, const CrossFit& b) {
  RatioOfMeans out;
  if (!(a.mean > 0.0 && b.mean > 0.0)) return out;
  out.ratio = a.mean / b.mean;
  const std::size_t n = a.without.size();
  if (n < 2 || b.without.size() != n) return out;
  std::vector<double> logarithms;
  for (std::size_t r = 0; r < n; ++r) {
    if (!(a.without[r] > 0.0 && b.without[r] > 0.0)) return out;
    logarithms.push_back(std::log(a.without[r] / b.without[r]));
  }
  const double half = student_factor_95(static_cast<double>(n) - 1.0) * jackknife_error(logarithms);
  out.interval = {out.ratio * std::exp(-half), out.ratio * std::exp(half)};
  return out;
}

Estimate growth_exponent(const std::vector<double>& x, const std::vector<std::vector<double>>& curves, double from) {
  const double n = static_cast<double>(curves.size());
  std::vector<double> sum(x.size(), 0.0);
  for (const std::vector<double>& curve : curves)
    for (std::size_t k = 0; k < x.size(); ++k) sum[k] += curve[k];
  // The mean and the sum have the same exponent.
  const std::optional<double> all = exponent_of(x, sum, from);
  if (!all) return {kUnknown};
  std::vector<double> without, rest(x.size());
  for (const std::vector<double>& curve : curves) {
    for (std::size_t k = 0; k < x.size(); ++k) rest[k] = sum[k] - curve[k];
    const std::optional<double> exponent = curves.size() < 2 ? std::nullopt : exponent_of(x, rest, from);
    if (!exponent) return {*all};
    without.push_back(*exponent);
  }
  return student_estimate(*all, jackknife_error(without), n - 1.0);
}

}  // namespace pandora
