// When samples lose weight or are forgotten. After such a period, estimates and inverses are those of the remaining
// samples with their weights.
#pragma once

#include <cmath>
#include <limits>

namespace pandora {

struct Forgetting {
  double half_life = 0.0;  ///< of a sample's weight, in periods; 0: samples keep their weight
  int window = 0;          ///< how many periods' samples are kept; 0: all
  int restart_at = 0;      ///< after this period the lane forgets the last `lost` periods; 0: never
  int lost = 0;

  static constexpr double kLeastWeight = 1.0 / 1024.0;  ///< a sample with less weight is dropped
  /// The same for LinUCB, where keeping samples of little weight costs only time.
  static constexpr double kLeastPayoffWeight = 1.0 / (1 << 26);

  /// Whether the period in which a sample was learned must be stored.
  bool dated() const { return window > 0 || restart_at > 0; }
  /// Whether samples lose weight, or are dropped for their age, at the end of `period` (1, 2, ...). This happens at
  /// every quarter of a half-life and of a window, because each time costs a fit of all samples.
  bool fades_after(int period) const { return half_life > 0.0 && period % quarter(half_life) == 0; }
  bool drops_after(int period) const { return window > 0 && period % quarter(window) == 0; }
  bool happens_after(int period) const {
    return fades_after(period) || drops_after(period) || (restart_at > 0 && period == restart_at);
  }
  double factor() const { return std::exp2(-quarter(half_life) / half_life); }
  /// The first and the last period (1, 2, ...; 0: the calibration) of the samples that stay after `period`.
  int first_kept(int period) const { return drops_after(period) && period >= window ? period - window + 1 : 0; }
  int last_kept(int period) const {
    if (restart_at == 0 || period != restart_at) return period;
    return period > lost ? period - lost : 0;
  }
  /// The first period from `period` on after which samples fade or are dropped; the greatest int if there is none.
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
