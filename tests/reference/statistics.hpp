// Statistics for tests. Each comment has the rate of false alarms of the bound that tests use.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace pandora::statistics {

struct Mean {
  double value = 0.0;
  double standard_error = 0.0;
};

/// The mean and its standard error, by two passes.
template <class Container>
Mean mean(const Container& sample) {
  const double n = static_cast<double>(sample.size());
  double sum = 0.0, squares = 0.0;
  for (double x : sample) sum += x;
  for (double x : sample) squares += (x - sum / n) * (x - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1.0) / n)};
}

/// The distance of `estimate` from `truth` in standard errors. A bound of 4.5 gives a false alarm in 7 of a million
/// tests.
inline double in_standard_errors(Mean estimate, double truth) {
  return (estimate.value - truth) / estimate.standard_error;
}

/// The same for `count` hits in `trials` with probability p.
inline double in_standard_errors(double count, double trials, double p) {
  return (count - trials * p) / std::sqrt(trials * p * (1.0 - p));
}

inline constexpr double kAlarm = 4.5;

/// sqrt(n) times the Kolmogorov-Smirnov distance. A bound of 2.5 gives a false alarm in 2 exp(-2 * 2.5^2) = 7 of a
/// million tests.
template <class Value, class Distribution>
double kolmogorov_smirnov(std::vector<Value> sample, Distribution&& distribution) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = distribution(static_cast<double>(sample[i]));
    distance = std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return std::sqrt(n) * distance;
}

inline constexpr double kKolmogorovAlarm = 2.5;

/// The chi-square statistic for equal probabilities, as a normal score (Wilson and Hilferty).
inline double chi_square_score(const std::vector<int>& counts) {
  double total = 0.0, chi2 = 0.0;
  for (int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  for (int count : counts) chi2 += (count - expected) * (count - expected) / expected;
  const double k = static_cast<double>(counts.size()) - 1.0;
  return (std::cbrt(chi2 / k) - (1.0 - 2.0 / (9.0 * k))) / std::sqrt(2.0 / (9.0 * k));
}

inline double uniform_distribution(double x) {
  return std::clamp((x + 1.0) / 2.0, 0.0, 1.0);
}  // on [-1, 1]
inline double normal_distribution(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// The distribution of Student's t with 5 degrees of freedom in closed form (Abramowitz and Stegun 26.7.3).
inline double t5_distribution(double t) {
  const double angle = std::atan(t / std::sqrt(5.0)), c = std::cos(angle);
  return 0.5 + (angle + std::sin(angle) * (c + 2.0 / 3.0 * c * c * c)) / std::acos(-1.0);
}

/// P(chi2_{2k} > x) = P(Poisson(x/2) < k).
inline double chi_square_tail_even(int degrees, double x) {
  double term = std::exp(-x / 2.0), sum = 0.0;
  for (int i = 0; i < degrees / 2; ++i) {
    sum += term;
    term *= x / 2.0 / (i + 1);
  }
  return sum;
}

}  // namespace pandora::statistics
