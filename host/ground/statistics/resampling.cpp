#include "host/ground/statistics/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "host/ground/statistics/power_law.hpp"
#include "host/ground/statistics/student_t.hpp"

namespace pandora {
namespace {

struct MeanAndError {
  double mean = 0.0, error = 0.0;
};

template <class Value>
MeanAndError mean_and_error(std::size_t size, Value&& value) {
  const double n = static_cast<double>(size);
  MeanAndError out;
  for (std::size_t i = 0; i < size; ++i) out.mean += value(i);
  out.mean /= n;
  double squares = 0.0;
  for (std::size_t i = 0; i < size; ++i) squares += (value(i) - out.mean) * (value(i) - out.mean);
  out.error = std::sqrt(squares / (n - 1.0) / n);
  return out;
}

// The standard error that the estimates without each replication give.
double jackknife_error(const std::vector<double>& without) {
  return (static_cast<double>(without.size()) - 1.0) *
         mean_and_error(without.size(), [&](std::size_t i) { return without[i]; }).error;
}

}  // namespace

bool AsymmetricInterval::known() const {
  return std::isfinite(low) && std::isfinite(high);
}

AsymmetricInterval bootstrap_interval(const std::vector<double>& values) {
  constexpr std::uint64_t kSeed = 20240301;
  const std::size_t n = values.size();
  if (n < kLeastForBootstrap) return {};
  const MeanAndError own = mean_and_error(n, [&](std::size_t i) { return values[i]; });
  if (!(own.error > 0.0)) return {};
  std::mt19937_64 random(kSeed);
  std::vector<double> drawn(n), studentised;
  for (int resample = 0; resample < kResamples; ++resample) {
    for (double& value : drawn) value = values[random() % n];
    const MeanAndError found = mean_and_error(n, [&](std::size_t i) { return drawn[i]; });
    // A sample of one value alone says that the law is too coarse for this; its quotient is infinite, or counts as 0.
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
  const double half = student_t_quantile(0.975, static_cast<double>(n) - 1.0) * jackknife_error(logarithms);
  out.interval = {out.ratio * std::exp(-half), out.ratio * std::exp(half)};
  return out;
}

Estimate growth_exponent(const std::vector<double>& x, const std::vector<std::vector<double>>& curves, double from) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const double n = static_cast<double>(curves.size());
  std::vector<double> sum(x.size(), 0.0);
  for (const std::vector<double>& curve : curves)
    for (std::size_t k = 0; k < x.size(); ++k) sum[k] += curve[k];
  // The mean and the sum have one exponent.
  const std::optional<PowerLaw> all = fit_power_law(x, sum, from);
  if (!all) return {kUnknown, kUnknown};
  std::vector<double> without, rest(x.size());
  for (const std::vector<double>& curve : curves) {
    for (std::size_t k = 0; k < x.size(); ++k) rest[k] = sum[k] - curve[k];
    const std::optional<PowerLaw> law = curves.size() < 2 ? std::nullopt : fit_power_law(x, rest, from);
    if (!law) return {all->exponent, kUnknown};
    without.push_back(law->exponent);
  }
  return {all->exponent, student_t_quantile(0.975, n - 1.0) * jackknife_error(without)};
}

}  // namespace pandora
