// Optimism: how the factor c on the width of a learned score changes with time, and the random draws that can replace
// it.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/random/distributions.hpp"

namespace pandora {

/// The factor in period t for a box with n_a samples. The T_0 calibration periods count in t.
enum class Bonus : std::uint8_t {
  constant,      ///< c
  inverse_sqrt,  ///< c / sqrt(t)
  log,           ///< c sqrt(log t)
  log_ratio,     ///< c sqrt(log(1 + t / n_a))
  count,         ///< c / sqrt(n_a), with 1 in place of the width, so that no design matrix is kept
  theory         ///< c B_at, and c_theta beta_t for the reward: the paper's widths, with the constants of Theory
};

/// The constants of B_at, (eq:index:error:theta:known) and (eq:index:error:unknown:theta), and of beta_t (eq:beta:t-1).
struct Theory {
  double scale = 1.0;  ///< sqrt(C_1); C_2 where the reward is learned
  double base = 0.0;   ///< m log T + log(T A / delta)
  double ridge = 0.0;  ///< eta_1 d_B^2, or with the slopes' ridge where that is larger; 0 where the reward is learned
  double features = 0.0;           ///< d
  double confidence = 0.0;         ///< log(1 / delta)
  double reward_scale = 1.0;       ///< 2 gamma_0 / min(1, mu_min)
  double reward_offset = 0.0;      ///< 2 sqrt(eta_0) alpha / min(1, mu_min)
  double reward_growth = 1.0;      ///< C_phi^2 / eta_0
  double reward_confidence = 0.0;  ///< 2 log(3 / delta)

  /// B_at. `widths` is sum_s ||phi_s||^2_{Phi^-1} over the box's samples, each at its own time; it bounds the sum in
  /// the paper.
  PANDORA_HD double index_width(double t, double widths) const {
    const double sum = base + (features * ::log(t) + confidence) * widths;
    return ::sqrt(scale * scale * sum + ridge);
  }
  /// beta_t
  PANDORA_HD double reward_width(double t) const {
    return reward_scale * ::sqrt(features * ::log(1.0 + t * reward_growth) + reward_confidence) + reward_offset;
  }
};

struct BonusRule {
  Bonus kind = Bonus::constant;
  Theory theory = {};

  /// The number that c is multiplied with. `t` and `n` start at 1; a box without a sample counts as having one.
  PANDORA_HD double factor(int t, int n, double widths) const {
    const double time = t < 1 ? 1.0 : t, samples = n < 1 ? 1.0 : n;
    switch (kind) {
      case Bonus::constant:
        return 1.0;
      case Bonus::inverse_sqrt:
        return 1.0 / ::sqrt(time);
      case Bonus::log:
        return ::sqrt(::log(time));
      case Bonus::log_ratio:
        return ::sqrt(::log(1.0 + time / samples));
      case Bonus::count:
        return 1.0 / ::sqrt(samples);
      case Bonus::theory:
        return theory.index_width(time, widths);
    }
    return 1.0;
  }
  /// The same for the reward's bonus, which is a constant except under `theory`.
  PANDORA_HD double reward_factor(int t) const {
    return kind == Bonus::theory ? theory.reward_width(t < 1 ? 1.0 : t) : 1.0;
  }
};

/// The standard normal draw for a box in `period` (0, 1, ...), in single precision.
PANDORA_HD inline double box_normal(const Stream& stream, std::uint32_t period, int box) {
  std::uint32_t words[4][1];
  const std::uint32_t block[1] = {static_cast<std::uint32_t>(box / 4)}, periods[1] = {period}, first[1] = {0};
  philox<1>(stream, block, periods, first, words);
  const int pair = box % 4 / 2 * 2;
  float normal[2];
  two_normals(words[pair][0], words[pair + 1][0], normal[0], normal[1]);
  return static_cast<double>(box % 2 == 0 ? normal[0] : normal[1]);
}

}  // namespace pandora
