// Elementary functions as branch-free polynomials, one body for CPU and GPU.
//
// They replace <cmath> for two reasons. (1) They vectorise over arrays, which makes the shock draws ten times faster.
// (2) With explicit fma and no contraction they round the same on every machine, so that the tape of a replication does
// not depend on the mathematics library of the compiler or device.
// The coefficients are Chebyshev fits on the reduced interval, made with mpmath's chebyfit. Each function names the
// largest error of its fit; tests/kernels/base/elementary_test.cpp measures the functions as a whole.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/base/hd.hpp"

namespace pandora {

/// a + b as its rounded value and the rounding error (Knuth).
struct ExactSum {
  double sum, error;
};
PANDORA_INLINE ExactSum exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a + b rounded to odd: if the sum is not exact, the result is the neighbour towards zero with its last bit set.
/// Rounding this result to fewer digits gives the same as rounding the exact sum (Boldo and Melquiond 2008). |a| and
/// |b| must be 0 or lie within 2^+-500.
PANDORA_INLINE double sum_rounded_to_odd(double a, double b) {
  const ExactSum exact = exact_sum(a, b);
  const double beyond = exact.error * exact.sum;  // > 0: the exact sum is farther from zero
  const std::uint64_t below = beyond < 0.0 ? ~std::uint64_t{0} : 0, above = beyond > 0.0 ? ~std::uint64_t{0} : 0;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(exact.sum) + below) | (below | above) >> 63);
}

/// a b + c with one rounding on machines without an fma instruction, in loops that vectorise: the product is exact in
/// double.
PANDORA_INLINE float fused_in_double(float a, float b, float c) {
  return static_cast<float>(
      sum_rounded_to_odd(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c)));
}
/// The same in double. The product is split into two parts (Dekker); all sums are exact but one, which is rounded to
/// odd. Zeros and very large or very small numbers are left to the library.
PANDORA_INLINE double fused_in_parts(double a, double b, double c) {
  const auto exponent = [](double x) {
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ff;
  };
  if (exponent(a) - 923 > 200u || exponent(b) - 923 > 200u || exponent(c) - 823 > 400u) return ::fma(a, b, c);
  const auto upper = [](double x) {
    const double large = x * 134217729.0;  // 2^27 + 1
    return large - (large - x);
  };
  const double a1 = upper(a), b1 = upper(b), a2 = a - a1, b2 = b - b1, product = a * b;
  const double rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
  const ExactSum low = exact_sum(c, rest), all = exact_sum(product, low.sum);
  return all.sum + sum_rounded_to_odd(low.error, all.error);
}

PANDORA_HD PANDORA_INLINE float fused(float a, float b, float c) {
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDA_ARCH__)
  return fused_in_double(a, b, c);
#else
  return ::fmaf(a, b, c);
#endif
}
PANDORA_HD PANDORA_INLINE double fused(double a, double b, double c) {
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDA_ARCH__)
  if (!__builtin_cpu_supports("fma")) return fused_in_parts(a, b, c);  // the library would take ten times as long there
#endif
  return ::fma(a, b, c);
}

/// The default functor for multiply-adds in the functions below; kernels/base/lanes.hpp has others.
struct Fused {
  template <class Real>
  PANDORA_HD PANDORA_INLINE Real operator()(Real a, Real b, Real c) const {
    return fused(a, b, c);
  }
  /// For a b that is exact in float.
  PANDORA_HD PANDORA_INLINE float of_product(float a, float b, float c) const { return fused(a, b, c); }
  /// For a b + c that has at most 53 digits.
  PANDORA_HD PANDORA_INLINE float of_sum(float a, float b, float c) const { return fused(a, b, c); }
};

/// Whether x is neither NaN nor infinite. Every compiler gives the same result on the host and the device.
template <class Real>
PANDORA_HD PANDORA_INLINE bool is_finite(Real x) {
  return x - x == Real(0);
}

/// Nearest integer as a value, |x| < 2^22 (float) or 2^51 (double). Adding 1.5 * 2^23 pushes the fraction
/// out of the significand; unlike rint it vectorises without a rounding-mode argument.
PANDORA_HD PANDORA_INLINE float nearest(float x) {
  return (x + 12582912.0f) - 12582912.0f;
}
PANDORA_HD PANDORA_INLINE double nearest(double x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

/// x * 2^n for an integral n within the normal range; NaN for x = NaN, whatever n is. n is read off the significand of
/// a sum, as in nearest(), because converting NaN to an integer would be undefined.
PANDORA_HD PANDORA_INLINE float scale_by_power_of_two(float x, float n) {
  return x * std::bit_cast<float>((std::bit_cast<std::uint32_t>(n + 12582912.0f) + 127) << 23);
}
PANDORA_HD PANDORA_INLINE double scale_by_power_of_two(double x, double n) {
  return x * std::bit_cast<double>((std::bit_cast<std::uint64_t>(n + 6755399441055744.0) + 1023) << 52);
}

/// Natural logarithm of a positive normal float; log(1) = 0 exactly. Fit error 2.9e-8 of (log(1+f)-f+f^2/2)/f^3.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE float natural_log(float x, Fma&& fused = Fma()) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t exponent = (bits - 0x3f3504f3) >> 23;  // so that the significand lies in [sqrt(1/2), sqrt(2))
  const float f = std::bit_cast<float>(bits - (exponent << 23)) - 1.0f;
  const float e = static_cast<float>(exponent);
  float p = 0.0697161147f;
  p = fused(p, f, -0.114797338f);
  p = fused(p, f, 0.116854199f);
  p = fused(p, f, -0.124256873f);
  p = fused(p, f, 0.142490576f);
  p = fused(p, f, -0.166678023f);
  p = fused(p, f, 0.200007157f);
  p = fused(p, f, -0.249999970f);
  p = fused(p, f, 0.333333312f);
  const float f2 = f * f;
  const float tail = fused(p * f, f2, -0.5f * f2);
  return pandora::fused(e, 0.693147181f, f + tail);  // often at or next to the middle between two floats
}

/// sin(pi x) and cos(pi x) for x in [-1, 1]. Fit errors 9.7e-9 and 4.8e-11.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE void sine_cosine_pi(float x, float& sine, float& cosine, Fma&& fused = Fma()) {
  const float quarter = nearest(2.0f * x);
  const float r = fused.of_product(quarter, -0.5f, x);  // |r| <= 1/4
  const float t = r * r;
  float s = -0.58907510f;
  s = fused(s, t, 2.54976696f);
  s = fused(s, t, -5.16770782f);
  s = fused(s, t, 3.14159264f);
  s *= r;
  float c = 0.231328785f;
  c = fused(c, t, -1.33504445f);
  c = fused(c, t, 4.05870726f);
  c = fused(c, t, -4.93480216f);
  c = fused(c, t, 1.0f);
  const std::int32_t q = static_cast<std::int32_t>(quarter);
  const bool swap = (q & 1) != 0;
  const float a = swap ? c : s;
  const float b = swap ? s : c;
  sine = (q & 2) != 0 ? -a : a;
  cosine = ((q + 1) & 2) != 0 ? -b : b;
}

/// 2^x - 1 for |x| <= 60, without cancellation near 0. Fit error 7.8e-9 of (2^f-1)/f.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE float exp2_minus_one(float x, Fma&& fused = Fma()) {
  const float n = nearest(x);
  const float f = x - n;
  float p = 0.000154531629f;
  p = fused(p, f, 0.00133908634f);
  p = fused(p, f, 0.00961808256f);
  p = fused(p, f, 0.0555035711f);
  p = fused(p, f, 0.240226508f);
  p = fused(p, f, 0.693147188f);
  const float power = scale_by_power_of_two(1.0f, n);
  return fused.of_product(power, p * f, power - 1.0f);
}

/// e^x; |x| is clamped to 87. Fit error 6.5e-8 of (e^r-1-r)/r^2.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE float exponential(float x, Fma&& fused = Fma()) {
  x = x < -87.0f ? -87.0f : (x > 87.0f ? 87.0f : x);
  const float n = nearest(x * 1.44269504f);
  float r = fused.of_product(n, -0.693145752f, x);  // a constant of 15 digits
  r = fused.of_sum(n, -1.42860677e-6f, r);
  float p = 0.00139261761f;
  p = fused(p, r, 0.00836317307f);
  p = fused(p, r, 0.0416665547f);
  p = fused(p, r, 0.166665770f);
  p = fused(p, r, 0.5f);
  return scale_by_power_of_two(1.0f + fused(p * r, r, r), n);
}

/// e^x; |x| is clamped to 700. Fit error 1.4e-18 of (e^r-1-r)/r^2.
template <class Fma = Fused>
PANDORA_HD PANDORA_INLINE double exponential(double x, Fma&& fused = Fma()) {
  x = x < -700.0 ? -700.0 : (x > 700.0 ? 700.0 : x);
  const double n = nearest(x * 1.4426950408889634);
  double r = fused(n, -6.93147180369123816490e-01, x);  // ln 2 in two parts, the first with 21 trailing zeros
  r = fused(n, -1.90821492927058770002e-10, r);
  double p = 2.09146793765839351e-9;
  p = fused(p, r, 2.5105206373957011116e-8);
  p = fused(p, r, 2.7557273661348636219e-7);
  p = fused(p, r, 2.7557255425746434282e-6);
  p = fused(p, r, 2.4801587325533363819e-5);
  p = fused(p, r, 1.9841269874800491981e-4);
  p = fused(p, r, 1.3888888888883752417e-3);
  p = fused(p, r, 8.3333333333261408840e-3);
  p = fused(p, r, 4.1666666666666669752e-2);
  p = fused(p, r, 1.6666666666666670986e-1);
  p = fused(p, r, 0.5);
  return scale_by_power_of_two(1.0 + fused(p * r, r, r), n);
}

/// 1 / sqrt(x) for positive normal x, to two units in the last place. Newton's steps start from a seed that halves the
/// exponent and have errors 0.035, 2e-3, 5e-6, 3e-11 and 2e-21. Roots and divisions take several times as long on a
/// device, and the device's own instruction rounds differently from other machines.
PANDORA_HD PANDORA_INLINE float reciprocal_root(float x) {
  float y = std::bit_cast<float>(0x5f375a86u - (std::bit_cast<std::uint32_t>(x) >> 1));
  const float half = -0.5f * x;
  PANDORA_UNROLL
  for (int step = 0; step < 3; ++step) y *= fused(half * y, y, 1.5f);
  return y;
}
PANDORA_HD PANDORA_INLINE double reciprocal_root(double x) {
  double y = std::bit_cast<double>(0x5fe6eb50c7b537a9u - (std::bit_cast<std::uint64_t>(x) >> 1));
  const double half = -0.5 * x;
  PANDORA_UNROLL
  for (int step = 0; step < 4; ++step) y *= fused(half * y, y, 1.5);
  return y;
}

/// Reward link G of (eq:reward:function), the standard logistic function; also the L of s_a(x) = 0.5 + L(alpha_a' x).
template <class Real, class Fma = Fused>
PANDORA_HD PANDORA_INLINE Real logistic(Real z, Fma&& fused = Fma()) {
  return Real(1) / (Real(1) + exponential(-z, fused));
}

/// Index link Lambda of (eq:index:a): tanh, with values in [-1, 1].
template <class Real, class Fma = Fused>
PANDORA_HD PANDORA_INLINE Real index_link(Real z, Fma&& fused = Fma()) {
  return Real(1) - Real(2) / (exponential(Real(2) * z, fused) + Real(1));
}

/// Lambda' at a point with Lambda(z) = value.
template <class Real>
PANDORA_HD PANDORA_INLINE Real index_link_slope(Real value) {
  return Real(1) - value * value;
}

}  // namespace pandora
