// The quantities of a tape as functions of a context and a shock, for host and device (kernels/tape/tape.hpp).
#pragma once

#include <cstdint>

#include "kernels/base/elementary.hpp"
#include "kernels/random/distributions.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// Writes the features that coordinate j of n adds to psi(x) = (1, x) or (1, x, x^2), behind the leading 1. x is
/// unscaled in both.
PANDORA_HD inline void add_index_features(IndexFeatures kind, int n, int j, float x, float* psi) {
  psi[1 + j] = x;
  if (kind == IndexFeatures::affine_and_squares) psi[1 + n + j] = x * x;
}

/// s_a(x) = 0.5 + G(alpha_a' x), given alpha_a' x; 1 in regime A, without rounding.
PANDORA_HD inline double shock_scale_of(float mapped, bool contextual) {
  return 0.5 + (contextual ? logistic(static_cast<double>(mapped)) : 0.5);
}

/// c_{0,a} G(beta_{0,a}' x), given beta_{0,a}' x; c_{0,a} / 2 in regime A.
PANDORA_HD inline double context_cost_of(double c0, float mapped, bool contextual) {
  return c0 * (contextual ? logistic(static_cast<double>(mapped)) : 0.5);
}

/// mu* = G(z) (eq:reward:function).
PANDORA_HD PANDORA_INLINE double reward_link(RewardLink link, double z) {
  if (link == RewardLink::logistic) return logistic(z);
  const double bent = 0.5 + z / (2.0 * (2.0 + (z < 0.0 ? -z : z))), straight = 0.5 + 0.1 * z;
  return link == RewardLink::algebraic ? bent : (straight < 0.0 ? 0.0 : (straight > 1.0 ? 1.0 : straight));
}

/// phi(x, omega_a) = Q x + D omega_a (d numbers), given Q x and D xi; returns mu* (eq:reward:function).
PANDORA_HD inline double output_features(const float* reward_context, const float* projected, double scale,
                                         const double* theta, int d, RewardLink link, float* phi) {
  double z = 0.0;
  for (int k = 0; k < d; ++k) {
    phi[k] = fused(static_cast<float>(scale), projected[k], reward_context[k]);
    z += theta[k] * static_cast<double>(phi[k]);
  }
  return reward_link(link, z);
}

/// The index Lambda(rho_a' psi(x)) of an environment that draws rho_a, given its intercept and the slopes' rho' x.
PANDORA_HD inline double linear_index_of(double intercept, float mapped) {
  return index_link(intercept + static_cast<double>(mapped));
}

/// E[(G(l + s W) - sigma)^+], the left side of (eq:sigma), for W that takes the n values `descending` with equal
/// probability. The sum goes in strips of fixed length, so that it has the same bits wherever it is computed. It ends
/// at the first strip whose last value adds nothing.
PANDORA_HD inline double expected_excess(const double* descending, int n, double shift, double scale, double sigma,
                                         RewardLink link) {
  constexpr int kStrip = 8;
  double sum[kStrip] = {}, excess[kStrip] = {};
  int first = 0;
  for (bool more = true; more && first + kStrip <= n; first += kStrip) {
    PANDORA_SIMD
    for (int k = 0; k < kStrip; ++k) {
      excess[k] = reward_link(link, fused(scale, descending[first + k], shift)) - sigma;
      sum[k] += excess[k] > 0.0 ? excess[k] : 0.0;
    }
    more = excess[kStrip - 1] > 0.0;
  }
  double total = 0.0;
  for (int k = 0; k < kStrip; ++k) total += sum[k];
  for (; first < n; ++first) {
    const double rest = reward_link(link, fused(scale, descending[first], shift)) - sigma;
    if (!(rest > 0.0)) break;
    total += rest;
  }
  return total / n;
}

/// c_a(x, omega_a), given beta_{1,a}' |xi|.
PANDORA_HD inline double output_cost_of(double context_cost, double c1, double scale, float magnitude,
                                        bool contextual) {
  return context_cost + c1 * (contextual ? logistic(scale * static_cast<double>(magnitude)) : 0.5);
}

/// The box number of a stream at which the output of an opening (0, 1, ...) of a box is drawn.
PANDORA_HD inline std::uint32_t draw_place(std::uint32_t box, std::uint32_t opening) {
  return box + opening * kMaxBoxes;
}

/// The factor on a cost: Pareto(tail) with mean 1, (1 - 1/tail) U^(-1/tail). `stream` has Purpose::cost_factor;
/// `segment` of the tape: 0 is x_0, 1 the calibration, 2 + k the (k+1)-th opening of an online period.
PANDORA_HD inline double cost_factor(const Stream& stream, double tail, std::uint32_t segment, std::uint32_t period,
                                     std::uint32_t box) {
  std::uint32_t words[4][1];
  philox<1>(stream, {0}, {period}, {box + segment * kMaxBoxes}, words);
  return (1.0 - 1.0 / tail) * exponential(-static_cast<double>(natural_log(unit_uniform(words[0][0]))) / tail);
}

/// The Bernoulli(mu) reward of a box in a period.
PANDORA_HD inline float reward_of(const Stream& stream, std::uint32_t period, std::uint32_t box, double mu) {
  std::uint32_t words[4][1];
  philox<1>(stream, {0}, {period}, {box}, words);
  return open_uniform(words[0][0]) < mu ? 1.0f : 0.0f;
}

}  // namespace pandora
