#include "host/lanes/policies/residual_law.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/base/assert.hpp"

namespace pandora::policies {

ResidualLaw::ResidualLaw(std::vector<double> residuals, double L) : e_(std::move(residuals)) {
  std::sort(e_.begin(), e_.end(), std::greater<>());
  const double n = static_cast<double>(e_.size());
  top_ = e_.empty() ? 0.0 : std::min(1.0, L / n);
  for (std::size_t i = 0; i < e_.size(); ++i) {
    const double share = static_cast<double>(i + 1) / n;
    excess_.push_back(i == 0 ? 0.0 : excess_.back() + tail_.back() * (e_[i - 1] - e_[i]));
    tail_.push_back(i + 1 == e_.size() ? 1.0
                                       : std::min(1.0, share + std::sqrt(2.0 * share * (1.0 - share) * L / n) + L / n));
  }
}

double ResidualLaw::index(double mean, double cost) const {
  PANDORA_ASSERT(!e_.empty() && cost > 0.0);
  // Above the largest residual there is the mass at 1 alone, if that is above it at all.
  const double beyond = top_ * std::max(0.0, 1.0 - (mean + e_[0])), left = cost - beyond;
  if (left <= 0.0) return 1.0 - cost / top_;
  // excess_ ascends: the last entry that is at most `left`.
  const auto next = std::upper_bound(excess_.begin(), excess_.end(), left);
  const std::size_t i = static_cast<std::size_t>(next - excess_.begin()) - 1;
  return mean + e_[i] - (left - excess_[i]) / tail_[i];
}

}  // namespace pandora::policies
