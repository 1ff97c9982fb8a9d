#include "host/ground/statistics/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>  // only here, because it takes seconds to compile
#include <cmath>
#include <numeric>
#include <random>

namespace pandora {
namespace {

// Sum of squared deviations.
double scatter_of(const std::vector<double>& values) {
  const double mean = mean_with_error(values).mean;
  double sum = 0.0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

// A permutation that is the same with every standard library; std::shuffle's is not.
void shuffle(std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

}  // namespace

double student_t_quantile(double probability, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), probability);
}

double beta_quantile(double probability, double a, double b) {
  return boost::math::ibeta_inv(a, b, probability);
}

double student_factor_95(double degrees_of_freedom) {
  return degrees_of_freedom > 0.0 ? student_t_quantile(0.975, degrees_of_freedom) : kUnknown;
}

double student_t_p_value(double statistic, double degrees_of_freedom) {
  if (!std::isfinite(statistic)) return std::isnan(statistic) ? statistic : 0.0;
  return 2.0 * boost::math::cdf(boost::math::students_t(degrees_of_freedom), -std::abs(statistic));
}

MeanWithError mean_with_error(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size()), mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / (n - 1.0) / n)};
}

Estimate student_estimate(double mean, double standard_error, double degrees_of_freedom) {
  if (!(degrees_of_freedom > 0.0)) return {mean};  // a standard error of 0 / 0, or from the rounding of one value
  return {mean, student_factor_95(degrees_of_freedom) * standard_error, standard_error};
}

Estimate estimate(const std::vector<double>& values) {
  const auto [mean, error] = mean_with_error(values);  // both are NaN without values, the error also with one
  return student_estimate(mean, error, static_cast<double>(values.size()) - 1.0);
}

double skewness(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double mean = 0.0, squares = 0.0, cubes = 0.0;
  for (const double x : values) mean += x / n;
  for (const double x : values) {
    const double d = x - mean;
    squares += d * d / n;
    cubes += d * d * d / n;
  }
  return squares > 0.0 ? cubes / std::pow(squares, 1.5) : 0.0;
}

double unskewed(double quantile, double skewness, std::size_t n) {
  const double a = skewness / std::sqrt(static_cast<double>(n));
  if (std::abs(a) < 1e-6) return quantile + a / 6.0;
  const double root = 1.0 + a * quantile / 3.0;
  return (root * root * root - 1.0) / a + a / 6.0;
}

double least_values(double skewness) {
  return 25.0 * skewness * skewness;
}

PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b) {
  PairedDifference out{a.size(), {kUnknown}, kUnknown, kUnknown, kUnknown};
  if (a.empty()) return out;
  const double n = static_cast<double>(a.size());
  std::vector<double> differences(a.size());
  double below = 0.0;
  for (std::size_t r = 0; r < a.size(); ++r) {
    differences[r] = a[r] - b[r];
    below += a[r] < b[r] ? 1.0 : a[r] == b[r] ? 0.5 : 0.0;
  }
  const auto [mean, error] = mean_with_error(differences);
  out.difference = student_estimate(mean, error, n - 1.0);
  out.share_below = below / n;
  if (a.size() < 2) return out;
  const double scatter = scatter_of(differences);
  if (scatter > 0.0) {
    out.p = student_t_p_value(out.difference.mean / error, n - 1.0);
    out.relative_efficiency = (scatter_of(a) + scatter_of(b)) / scatter;
    if (!std::isfinite(out.relative_efficiency)) out.relative_efficiency = kUnknown;  // only rounding differs
  } else {
    out.p = out.difference.mean == 0.0 ? 1.0 : 0.0;
  }
  return out;
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!std::isnan(p[i])) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> out(p.size(), kUnknown);
  double largest = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    largest = std::max(largest, static_cast<double>(order.size() - k) * p[order[k]]);
    out[order[k]] = std::min(1.0, largest);
  }
  return out;
}

CrossFit cross_fit(const std::vector<std::vector<double>>& regrets) {
  constexpr std::uint64_t kSeed = 20240229;
  const std::size_t k = regrets.size(), n = k == 0 ? 0 : regrets[0].size();
  if (n < 4) return {kUnknown, {}};
  CrossFit fit{0.0, std::vector<double>(n, 0.0)};
  std::mt19937_64 random(kSeed);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int split = 0; split < kSplits; ++split) {
    shuffle(order, random);
    std::vector<double> sums[2] = {std::vector<double>(k, 0.0), std::vector<double>(k, 0.0)};
    const auto half_of = [n](std::size_t place) { return place < n / 2 ? 0 : 1; };
    for (std::size_t place = 0; place < n; ++place)
      for (std::size_t h = 0; h < k; ++h) sums[half_of(place)][h] += regrets[h][order[place]];
    std::size_t chosen[2];
    for (const int half : {0, 1})
      chosen[half] =
          static_cast<std::size_t>(std::min_element(sums[half].begin(), sums[half].end()) - sums[half].begin());
    fit.mean += (sums[0][chosen[1]] + sums[1][chosen[0]]) / static_cast<double>(n);
    for (std::size_t place = 0; place < n; ++place) {  // the same without one replication
      const std::size_t r = order[place];
      const int half = half_of(place), other = 1 - half;
      std::size_t best = 0;
      for (std::size_t h = 1; h < k; ++h)
        if (sums[half][h] - regrets[h][r] < sums[half][best] - regrets[best][r]) best = h;
      fit.without[r] +=
          (sums[half][chosen[other]] - regrets[chosen[other]][r] + sums[other][best]) / static_cast<double>(n - 1);
    }
  }
  fit.mean /= kSplits;
  for (double& mean : fit.without) mean /= kSplits;
  return fit;
}

Estimate jackknife_estimate(const CrossFit& fit) {
  if (fit.without.empty()) return {fit.mean};
  const double n = static_cast<double>(fit.without.size());
  return student_estimate(fit.mean, std::sqrt((n - 1.0) / n * scatter_of(fit.without)), n - 1.0);
}

CrossFit difference(const CrossFit& a, const CrossFit& b) {
  CrossFit out{a.mean - b.mean, a.without};
  if (a.without.size() != b.without.size()) return {out.mean, {}};
  for (std::size_t r = 0; r < out.without.size(); ++r) out.without[r] -= b.without[r];
  return out;
}

}  // namespace pandora
