// Laws of one coordinate, from the words of a coordinate block. The stated ranges hold exactly for this code.
#pragma once

#include "kernels/base/lanes.hpp"
#include "kernels/random/philox.hpp"

namespace pandora {

/// Law of the output shocks xi before truncation.
enum class Law : std::uint8_t { uniform = 0, gaussian = 1, student_t5 = 2, custom = 3 };

/// A law. For Law::custom it has the coordinate as a function of two independent words (uniform on 0 .. 2^32 - 1), as
/// in student_t5() below. Law::custom runs on the CPU only.
struct CoordinateLaw {
  using Function = float (*)(std::uint32_t, std::uint32_t);
  Law law;
  Function custom;
  /// sqrt(r) and sqrt(1 - r), for boxes whose shocks depend on each other: the weights of the normals that all boxes of
  /// a period share and of the box's own normals. With r = 0 a box has only its own normals, which take fewer words.
  float common = 0.0f, own = 1.0f;
  PANDORA_HD CoordinateLaw(Law which, Function function = nullptr)
      : law(which), custom(function) {}  // NOLINT: implicit
  /// The same law for each box, but the normals behind the shocks of two boxes have correlation r.
  CoordinateLaw correlated(double r) const {
    CoordinateLaw out = *this;
    out.common = static_cast<float>(std::sqrt(r));
    out.own = static_cast<float>(std::sqrt(1.0 - r));
    return out;
  }
};

/// The normals that all boxes of a period share are drawn at this box number, which is above every box.
inline constexpr std::uint32_t kSharedShock = 0xff;

/// [-1, 1], both ends possible: the word as a signed fraction, rounded to 24 bits.
PANDORA_HD PANDORA_INLINE float signed_uniform(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f;
}

/// (0, 1]: 0 cannot occur (least value 2^-33), 1 can.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE float unit_uniform(std::uint32_t word, Fma&& fused = Fma()) {
  return fused.of_sum(static_cast<float>(word), 0x1p-32f, 0x1p-33f);
}

/// (0, 1) in double, neither end possible: (word + 1/2) / 2^32.
PANDORA_HD inline double open_uniform(std::uint32_t word) {
  return (static_cast<double>(word) + 0.5) * 0x1p-32;
}

/// Two independent standard normals by Box and Muller; |value| <= sqrt(66 ln 2) = 6.77.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE void two_normals(std::uint32_t radial, std::uint32_t angular, float& first, float& second,
                                           Fma&& fused = Fma()) {
  const float radius = ::sqrtf(-2.0f * natural_log(unit_uniform(radial, fused), fused));
  float sine, cosine;
  sine_cosine_pi(signed_uniform(angular), sine, cosine, fused);
  first = radius * cosine;
  second = radius * sine;
}

/// Student t with 5 degrees of freedom by Bailey's polar form sqrt(5 (u^(-2/5) - 1)) cos(2 pi v);
/// |value| <= sqrt(5 (2^13.2 - 1)) = 217. Its sine twin is uncorrelated but not independent, so it is not used.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE float student_t5(std::uint32_t radial, std::uint32_t angular, Fma&& fused = Fma()) {
  const float excess =
      exp2_minus_one(-0.577078016f * natural_log(unit_uniform(radial, fused), fused), fused);  // 0.4 / ln 2
  const float radius = ::sqrtf(5.0f * (excess > 0.0f ? excess : 0.0f));
  float sine, cosine;
  sine_cosine_pi(signed_uniform(angular), sine, cosine);
  return radius * cosine;
}

/// 2 Phi(z) - 1 of a standard normal z: uniform on (-1, 1).
PANDORA_HD PANDORA_INLINE float centred_normal_cdf(float z) {
  // erf by formula 7.1.26 of Abramowitz and Stegun, whose error is at most 1.5e-7.
  const float x = (z < 0.0f ? -z : z) * 0.707106781f, t = 1.0f / fused(0.3275911f, x, 1.0f);
  float p = 1.061405429f;
  p = fused(p, t, -1.453152027f);
  p = fused(p, t, 1.421413741f);
  p = fused(p, t, -0.284496736f);
  p = fused(p, t, 0.254829592f);
  const float value = fused(-(p * t), exponential(-x * x), 1.0f);
  return z < 0.0f ? -value : value;
}

/// shock_group() for boxes whose normals z = sqrt(r) g + sqrt(1 - r) e share g. gaussian is z, uniform is 2 Phi(z) - 1,
/// student_t5 is z / sqrt(chi^2_5 / 5) with a chi^2_5 of the box's own. So every box has the same law as without
/// correlation. All boxes share the g of an attempt, whichever of them needs the attempt. A box's first vector inside
/// the ball therefore has the truncated law, also when it is drawn beside others.
template <int W>
PANDORA_HD inline void correlated_group(CoordinateLaw coordinate, const Stream& stream, std::uint32_t group,
                                        const std::uint32_t (&attempt)[W], const std::uint32_t (&period)[W],
                                        const std::uint32_t (&box)[W], float (&xi)[4][W]) {
  std::uint32_t word0[W], all[W], words[4][W];
  float shared[4][W];
  PANDORA_SIMD
  for (int lane = 0; lane < W; ++lane) {
    word0[lane] = group | attempt[lane] << 16;
    all[lane] = kSharedShock;
  }
  philox<W>(stream, word0, period, all, words);
  for (int k = 0; k < 4; k += 2) PANDORA_SIMD
  for (int lane = 0; lane < W; ++lane)
    two_normals(words[k][lane], words[k + 1][lane], shared[k][lane], shared[k + 1][lane]);
  const float common = coordinate.common, own = coordinate.own;
  if (coordinate.law != Law::student_t5) {
    philox<W>(stream, word0, period, box, words);
    for (int k = 0; k < 4; k += 2) PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) {
      float first, second;
      two_normals(words[k][lane], words[k + 1][lane], first, second);
      xi[k][lane] = fused(common, shared[k][lane], own * first);
      xi[k + 1][lane] = fused(common, shared[k + 1][lane], own * second);
    }
    if (coordinate.law == Law::gaussian) return;
    for (int k = 0; k < 4; ++k) PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) xi[k][lane] = centred_normal_cdf(xi[k][lane]);
    return;
  }
  for (int k = 0; k < 4; ++k) {  // a block for each coordinate: e, and chi^2_5 = -2 ln(u v) + n^2
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane)
      word0[lane] = (4 * group + static_cast<std::uint32_t>(k)) | attempt[lane] << 16;
    philox<W>(stream, word0, period, box, words);
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) {
      float e, n;
      two_normals(words[0][lane], words[1][lane], e, n);
      const float logs = natural_log(unit_uniform(words[2][lane])) + natural_log(unit_uniform(words[3][lane]));
      const float squares = fused(-2.0f, logs, n * n);
      const float z = fused(common, shared[k][lane], own * e);
      xi[k][lane] = z / ::sqrtf(0.2f * (squares > 1e-30f ? squares : 1e-30f));
    }
  }
}

/// Coordinates 4 group .. 4 group + 3 of W shock vectors, before truncation. student_t5 and own laws take two Philox
/// blocks per group (two words a coordinate), the others one. The rejection attempt sits in word 0's upper half.
template <int W>
PANDORA_HD inline void shock_group(CoordinateLaw coordinate, const Stream& stream, std::uint32_t group,
                                   const std::uint32_t (&attempt)[W], const std::uint32_t (&period)[W],
                                   const std::uint32_t (&box)[W], float (&xi)[4][W]) {
  if (coordinate.common > 0.0f) return correlated_group<W>(coordinate, stream, group, attempt, period, box, xi);
  std::uint32_t word0[W], words[4][W];
  const Law law = coordinate.law;
  const std::uint32_t blocks = law == Law::student_t5 || law == Law::custom ? 2 : 1;
  for (std::uint32_t half = 0; half < blocks; ++half) {
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) word0[lane] = (group * blocks + half) | attempt[lane] << 16;
    philox<W>(stream, word0, period, box, words);
    if (law == Law::uniform) {
      for (int k = 0; k < 4; ++k) PANDORA_SIMD
      for (int lane = 0; lane < W; ++lane) xi[k][lane] = signed_uniform(words[k][lane]);
    } else if (law == Law::gaussian) {
      for (int k = 0; k < 4; k += 2)
        for_lanes<W>([&](int lane, auto& fused) PANDORA_INLINED {
          two_normals(words[k][lane], words[k + 1][lane], xi[k][lane], xi[k + 1][lane], fused);
        });
#if !defined(__CUDA_ARCH__)
    } else if (law == Law::custom) {
      for (int k = 0; k < 4; k += 2)
        for (int lane = 0; lane < W; ++lane)
          xi[2 * half + k / 2][lane] = coordinate.custom(words[k][lane], words[k + 1][lane]);
#endif
    } else {
      for (int k = 0; k < 4; k += 2)
        for_lanes<W>([&](int lane, auto& fused) PANDORA_INLINED {
          xi[2 * half + k / 2][lane] = student_t5(words[k][lane], words[k + 1][lane], fused);
        });
    }
  }
}

}  // namespace pandora
