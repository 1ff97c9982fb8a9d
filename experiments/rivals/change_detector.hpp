// Tests whether values that come one after another still follow the same law.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace pandora::rivals {

/// sup |F_one - F_two| of two samples, neither of them empty. Both are sorted.
inline double kolmogorov_smirnov_distance(std::vector<double>& one, std::vector<double>& two) {
  std::sort(one.begin(), one.end());
  std::sort(two.begin(), two.end());
  double distance = 0.0;
  std::size_t i = 0, j = 0;
  while (i < one.size() && j < two.size()) {
    const double value = std::min(one[i], two[j]);
    while (i < one.size() && one[i] == value) ++i;  // skips ties, because both F jump there
    while (j < two.size() && two[j] == value) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(one.size()) -
                                           static_cast<double>(j) / static_cast<double>(two.size())));
  }
  return distance;
}

/// The two-sample test of Kolmogorov and Smirnov on a sliding window. It compares the most recent `window` values with
/// earlier ones, at every window/2 values. It needs three windows of values, so the first window is never part of a
/// test.
class ChangeDetector {
 public:
  /// `window` >= 2. `level` in (0, 1) bounds the probability of a false alarm in one test of exchangeable values: P(D
  /// sqrt(nm / (n + m)) > x) <= 2 exp(-2 x^2).
  ChangeDetector(int window, double level)
      : window_(static_cast<std::size_t>(window)), critical_(std::sqrt(0.5 * std::log(2.0 / level))) {}

  /// The greatest number of tests in `values` values.
  static double tests(double values, int window) { return values / std::floor(window / 2.0); }

  /// Adds a value. Returns true if the law has changed.
  bool add(double value) {
    values_.push_back(value);
    const std::size_t n = values_.size(), w = window_;
    if (n < 3 * w || n % (w / 2) != 0) return false;
    // Among the values before the window, uses only those in the later half of all values. While a learner settles its
    // residuals change, but little from one half of its samples to the next.
    const auto recent = values_.end() - static_cast<std::ptrdiff_t>(w);
    std::vector<double> before(values_.begin() + static_cast<std::ptrdiff_t>(std::min(n / 2, n - 2 * w)), recent);
    std::vector<double> now(recent, values_.end());
    const double size = static_cast<double>(w), others = static_cast<double>(before.size());
    return kolmogorov_smirnov_distance(before, now) * std::sqrt(size * others / (size + others)) > critical_;
  }

  /// Forgets all values, so that nothing is known about the law.
  void reset() { values_.clear(); }

 private:
  std::size_t window_;
  double critical_;
  std::vector<double> values_;
};

}  // namespace pandora::rivals
