// When samples weigh less, or are forgotten. After such a period estimates and inverses are those of the samples that
// are left, with their weights.
#pragma once

#include <cmath>
#include <limits>

namespace pandora {

struct Forgetting {
  double half_life = 0.0;  ///< of a sample's weight, in periods; 0: samples do not fade
  int window = 0;          ///< periods whose samples are kept; 0: those of all
  int restart_at = 0;      ///< after this period what was learned in the last `lost` periods is lost; 0: never
  int lost = 0;

  static constexpr double kLeastWeight = 1.0 / 1024.0;  ///< of a sample that is kept
  /// The same for LinUCB, whose weights cost nothing but time.
  static constexpr double kLeastPayoffWeight = 1.0 / (1 << 26);

  /// Whether it must be known when a sample was learned.
  bool dated() const { return window > 0 || restart_at > 0; }
  /// Whether samples lose weight, or are looked at for their age, at the end of `period` (1, 2, ...): at every quarter
  /// of a half-life, and of a window. Each costs a fit of all samples.
  bool fades_after(int period) const { return half_life > 0.0 && period % quarter(half_life) == 0; }
  bool drops_after(int period) const { return window > 0 && period % quarter(window) == 0; }
  bool happens_after(int period) const {
    return fades_after(period) || drops_after(period) || (restart_at > 0 && period == restart_at);
  }
  double factor() const { return std::exp2(-quarter(half_life) / half_life); }
  /// Of the samples that stay after `period`, the first and the last period (1, 2, ...; 0: the calibration) in which
  /// they were learned.
  int first_kept(int period) const { return drops_after(period) && period >= window ? period - window + 1 : 0; }
  int last_kept(int period) const {
    if (restart_at == 0 || period != restart_at) return period;
    return period > lost ? period - lost : 0;
  }
  /// The first period from `period` on after which something happens; the greatest number if none.
  int next(int period) const {
    constexpr int kNever = std::numeric_limits<int>::max();
    const auto later = [&](int step) { return (period + step - 1) / step * step; };
    int out = restart_at >= period && restart_at > 0 ? restart_at : kNever;
    if (half_life > 0.0 && later(quarter(half_life)) < out) out = later(quarter(half_life));
    if (window > 0 && later(quarter(window)) < out) out = later(quarter(window));
    return out;
  }

  static int quarter(double periods) { return periods < 8.0 ? 1 : static_cast<int>(periods / 4.0); }
};

}  // namespace pandora
