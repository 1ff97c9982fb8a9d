// The law of a number v = mean + e, at most 1, with the e of an empirical law that is made optimistic.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <vector>

namespace pandora::rivals {

/// n residuals, each with mass 1/n. An optimistic law makes every tail heavier: S(u) = P(e >= u) becomes min(1, S +
/// sqrt(2 S (1 - S) L/n) + L/n), Bernstein's bound at the level L. The mass that this adds above the largest residual
/// lies at v = 1. L = 0 is the empirical law itself.
class ResidualLaw {
 public:
  ResidualLaw() = default;
  explicit ResidualLaw(std::vector<double> residuals, double L = 0.0) : e_(std::move(residuals)) {
    std::sort(e_.begin(), e_.end(), std::greater<>());
    const double n = static_cast<double>(e_.size());
    top_ = e_.empty() ? 0.0 : std::min(1.0, L / n);
    for (std::size_t i = 0; i < e_.size(); ++i) {
      const double share = static_cast<double>(i + 1) / n;
      excess_.push_back(i == 0 ? 0.0 : excess_.back() + tail_.back() * (e_[i - 1] - e_[i]));
      tail_.push_back(
          i + 1 == e_.size() ? 1.0 : std::min(1.0, share + std::sqrt(2.0 * share * (1.0 - share) * L / n) + L / n));
    }
  }

  /// sigma with E[(v - sigma)^+] = cost, cost > 0, (eq:sigma); exact, by a binary search. There must be at least one
  /// residual.
  double index(double mean, double cost) const {
    assert(!e_.empty() && cost > 0.0);
    // Above the largest residual there is only the mass at 1, if 1 lies above it.
    const double beyond = top_ * std::max(0.0, 1.0 - (mean + e_[0])), left = cost - beyond;
    if (left <= 0.0) return 1.0 - cost / top_;
    // excess_ ascends: the last entry that is at most `left`.
    const auto next = std::upper_bound(excess_.begin(), excess_.end(), left);
    const std::size_t i = static_cast<std::size_t>(next - excess_.begin()) - 1;
    return mean + e_[i] - (left - excess_[i]) / tail_[i];
  }

 private:
  std::vector<double> e_;       // descending
  std::vector<double> tail_;    // S from e_[i] downwards to e_[i + 1]; the last is 1
  std::vector<double> excess_;  // the integral of S from e_[i] to e_[0]
  double top_ = 0.0;            // the mass at 1
};

}  // namespace pandora::rivals
