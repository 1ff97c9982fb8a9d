// A lane's estimate of theta_*: theta_hat, the reward design Phi^-1 (eq:design:matrix:t), and the inverse curvature, by
// which one new sample becomes one Newton step.
#pragma once

#include <type_traits>

#include "kernels/base/elementary.hpp"
#include "kernels/base/team.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// A view of theta_hat, Phi^-1 and C = (eta_0 I + sum G'(z_k) phi_k phi_k')^-1, each row padded with zeros to whole
/// vectors of any machine. Both matrices stay exactly symmetric.
struct RewardState {
  int d = 0;
  double* theta = nullptr;
  double* design_inverse = nullptr;     ///< d rows of stride(d)
  double* curvature_inverse = nullptr;  ///< d rows of stride(d)

  static PANDORA_HD constexpr int stride(int d) { return (d + kPad - 1) / kPad * kPad; }
  static PANDORA_HD constexpr int size(int d) { return (1 + 2 * d) * stride(d); }
  static PANDORA_HD RewardState over(double* memory, int d) {
    if (memory == nullptr) return {d};  // for a lane that knows mu*
    return {d, memory, memory + stride(d), memory + (1 + d) * stride(d)};
  }

  PANDORA_HD void reset(double ridge) {
    const int row = stride(d);
    for (int i = 0; i < row; ++i) theta[i] = 0.0;
    for (int i = 0; i < d * row; ++i) design_inverse[i] = curvature_inverse[i] = i % (row + 1) == 0 ? 1.0 / ridge : 0.0;
  }

  // A team does the following, with the same result in every member. `image` is stride(d) numbers that all members see
  // and nobody else uses meanwhile.

  /// theta_hat' phi
  template <class Team>
  PANDORA_HD double linear(const Team&, const float* phi) const {
    return dot<Team>(theta, phi);
  }

  /// ||phi||_{Phi^-1}
  template <class Team>
  PANDORA_HD double width(const Team& team, const float* phi, double* image) const {
    const double square = multiply(team, design_inverse, phi, image);
    return ::sqrt(square < 0.0 ? 0.0 : square);
  }

  /// theta_hat' phi + c_theta ||phi||_{Phi^-1}, the argument of G in (eq:mu:tilde). G would hide an infinite value.
  template <class Team>
  PANDORA_HD double optimistic(const Team& team, const float* phi, double c_theta, double* image) const {
    return linear(team, phi) + (c_theta <= 0.0 ? 0.0 : c_theta * width(team, phi, image));
  }

  /// Adds phi phi' to Phi, for a deployed output. Members must sync before they read the result.
  template <class Team>
  PANDORA_HD void widen(const Team& team, const float* phi, double* image) {
    rank_one(team, design_inverse, phi, 1.0, image);
  }

  /// Takes the Newton step of the sample (phi, r) alone, with gradient and weight at theta_hat's value before the step.
  /// Members must sync before they read the result.
  template <class Team>
  PANDORA_HD void step(const Team& team, const float* phi, double reward, double* image) {
    using V = typename Team::template Vectors<double>;
    const double g = logistic(linear(team, phi));
    const double s = rank_one(team, curvature_inverse, phi, g * (1.0 - g), image);
    const typename V::Vector step = V::broadcast((g - reward) / s);
    for (int i = team.rank() * V::width; i < stride(d); i += team.size() * V::width)
      V::store(theta + i, V::fused_negative(step, V::load(image + i), V::load(theta + i)));
  }

  // For one thread:
  PANDORA_HD double linear(const float* phi) const { return linear(SerialTeam{}, phi); }
  PANDORA_HD double width(const float* phi) const {
    double image[kMaxRewardFeatures];
    return width(SerialTeam{}, phi, image);
  }
  PANDORA_HD double optimistic(const float* phi, double c_theta) const {
    double image[kMaxRewardFeatures];
    return optimistic(SerialTeam{}, phi, c_theta, image);
  }
  /// G(theta_hat' phi + c_theta ||phi||_{Phi^-1}), (eq:mu:tilde)
  PANDORA_HD double estimate(const float* phi, double c_theta) const { return logistic(optimistic(phi, c_theta)); }
  /// Adds a deployed output and takes its step.
  PANDORA_HD void observe(const float* phi, double reward) {
    double image[kMaxRewardFeatures];
    widen(SerialTeam{}, phi, image);
    step(SerialTeam{}, phi, reward, image);
  }

 private:
  static constexpr int kPad = 8;
  static_assert(kMaxRewardFeatures % kPad == 0);

  // v' x. A CPU sums it in two parallel strands.
  template <class Team>
  PANDORA_HD double dot(const double* v, const float* x) const {
    double even = 0.0, odd = 0.0;
    int i = 0;
    for (; Team::kVectors && i + 2 <= d; i += 2) {
      even = fused(v[i], static_cast<double>(x[i]), even);
      odd = fused(v[i + 1], static_cast<double>(x[i + 1]), odd);
    }
    for (; i < d; ++i) even = fused(v[i], static_cast<double>(x[i]), even);
    return even + odd;
  }

  // image = inverse x; returns x' image. `inverse` is symmetric: row j is column j.
  template <class Team>
  PANDORA_HD double multiply(const Team& team, const double* inverse, const float* x, double* image) const {
    using V = typename Team::template Vectors<double>;
    const int row = stride(d);
    if constexpr (std::is_same_v<Team, SerialTeam>) {  // most numbers of a cascade's phi are 0
      for (int i = 0; i < row; ++i) image[i] = 0.0;
      for (int j = 0; j < d; ++j)
        for (int i = 0; i < row && x[j] != 0.0f; ++i)
          image[i] = fused(static_cast<double>(x[j]), inverse[j * row + i], image[i]);
      return dot<Team>(image, x);
    }
    team.sync();  // the last image is still being read, and the inverse being written
    for_tiles<double>(team, row, [&](auto tile, int i) {
      constexpr int N = decltype(tile)::value;
      typename V::Vector sum[N] = {};
      for (int j = 0; j < d; ++j) {
        const typename V::Vector weight = V::broadcast(static_cast<double>(x[j]));
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n) sum[n] = V::fused(weight, V::load(inverse + j * row + i + n * V::width), sum[n]);
      }
      PANDORA_UNROLL
      for (int n = 0; n < N; ++n) V::store(image + i + n * V::width, sum[n]);
    });
    team.sync();
    return dot<Team>(image, x);
  }

  // inverse <- (inverse^-1 + h phi phi')^-1 by Sherman-Morrison; image = old inverse * phi; returns 1 + h phi' image.
  template <class Team>
  PANDORA_HD double rank_one(const Team& team, double* inverse, const float* phi, double h, double* image) const {
    using V = typename Team::template Vectors<double>;
    const int row = stride(d);
    const double s = 1.0 + h * multiply(team, inverse, phi, image), f = ::sqrt(h / s);
    if constexpr (std::is_same_v<Team, SerialTeam>) {
      for (int j = 0; j < d; ++j)
        for (int i = 0; i < row && image[j] != 0.0; ++i)
          inverse[j * row + i] = fused(-(f * image[j]), f * image[i], inverse[j * row + i]);
      return s;
    }
    for_tiles<double>(team, row, [&](auto tile, int i) {
      constexpr int N = decltype(tile)::value;
      typename V::Vector part[N];
      PANDORA_UNROLL
      for (int n = 0; n < N; ++n) part[n] = V::broadcast(f) * V::load(image + i + n * V::width);
      for (int j = 0; j < d; ++j) {
        const typename V::Vector weight = V::broadcast(f * image[j]);
        double* const out = inverse + j * row + i;
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n)
          V::store(out + n * V::width, V::fused_negative(weight, part[n], V::load(out + n * V::width)));
      }
    });
    return s;
  }
};

}  // namespace pandora
