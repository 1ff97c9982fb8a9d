// Compares the functions with the C library in long double. The bounds are the largest measured errors, rounded up. The
// grids are so dense that a wrong digit in any coefficient shows, if it reaches the last place of the result.
#include "kernels/base/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace pandora {
namespace {

using Long = long double;
const Long kPi = std::acos(-1.0L);

// The distance from `exact`, in units of its last place in Real, for normal numbers.
template <class Real>
double ulps(Real value, Long exact) {
  int exponent;
  std::frexp(exact, &exponent);
  const Long unit = std::ldexp(1.0L, exponent - std::numeric_limits<Real>::digits);
  return static_cast<double>(std::fabs(static_cast<Long>(value) - exact) / unit);
}

// The largest error(x) over n + 1 equispaced points.
template <class Error>
double largest(double first, double last, int n, Error&& error) {
  double worst = 0.0;
  for (int i = 0; i <= n; ++i) {
    const double found = error(first + (last - first) * i / n);
    if (!(found <= worst)) worst = found;  // so that a NaN is kept
  }
  return worst;
}

TEST(Elementary, NearestRoundsToTheNearestInteger) {
  EXPECT_EQ(largest(-4194303.0, 4194303.0, 999983,
                    [](double x) {
                      const float y = static_cast<float>(x);
                      return std::fabs(nearest(y) - std::nearbyint(y));
                    }),
            0.0);
  EXPECT_EQ(largest(-0x1p50, 0x1p50, 999983, [](double x) { return std::fabs(nearest(x) - std::nearbyint(x)); }), 0.0);
  EXPECT_EQ(nearest(2.5f), 2.0f);  // ties to even
  EXPECT_EQ(nearest(-3.5), -4.0);
}

// The code for processors without fma gives the same bits as fma. The test has random numbers, sums that nearly cancel,
// and sums near a tie.
TEST(Elementary, FusedWithoutTheInstructionIsExact) {
  std::mt19937_64 draw(1);
  const auto same = [](auto x, auto y) { return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y); };
  for (int i = 0; i < 1000000; ++i) {
    const std::uint64_t words[] = {draw(), draw(), draw(), draw()};
    float a = std::bit_cast<float>(static_cast<std::uint32_t>(words[0])),
          b = std::bit_cast<float>(static_cast<std::uint32_t>(words[1])),
          c = std::bit_cast<float>(static_cast<std::uint32_t>(words[2]));
    const int few = static_cast<int>(words[3] % 7) - 3, shift = static_cast<int>(words[3] >> 32) % 100;
    if (i % 4 == 1) c = -a * b * (1.0f + static_cast<float>(few) * 0x1p-23f);
    if (i % 4 == 3) c = std::ldexp(a * b, shift % 30);
    ASSERT_TRUE(same(fused_in_double(a, b, c), std::fma(a, b, c))) << a << " " << b << " " << c;
    double x = std::bit_cast<double>(words[0]), y = std::bit_cast<double>(words[1]),
           z = std::bit_cast<double>(words[2]);
    if (i % 4 != 0) {
      x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(words[0])), few - 60);
      y = std::ldexp(static_cast<double>(static_cast<std::int64_t>(words[1]) >> (words[3] % 50)), -50);
    }
    if (i % 4 == 1) z = -x * y * (1.0 + few * 0x1p-52);
    if (i % 4 == 2) z = std::ldexp(x * y, shift);
    if (i % 4 == 3)
      z = std::ldexp(static_cast<double>(static_cast<std::int64_t>(words[2]) >> (words[3] % 60)), shift - 80);
    ASSERT_TRUE(same(fused_in_parts(x, y, z), std::fma(x, y, z))) << x << " " << y << " " << z;
  }
}

TEST(Elementary, PowersOfTwoScaleExactly) {
  for (int n = -126; n <= 127; ++n) EXPECT_EQ(scale_by_power_of_two(1.0f, static_cast<float>(n)), std::ldexp(1.0f, n));
  for (int n = -1022; n <= 1023; ++n) EXPECT_EQ(scale_by_power_of_two(1.0, static_cast<double>(n)), std::ldexp(1.0, n));
  for (const float n : {0.0f, NAN, -INFINITY}) {
    EXPECT_TRUE(std::isnan(scale_by_power_of_two(NAN, n)));
    EXPECT_TRUE(std::isnan(scale_by_power_of_two(static_cast<double>(NAN), static_cast<double>(n))));
  }
}

TEST(Elementary, LogarithmOfEveryNormalExponent) {
  double worst = 0.0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
    const float x = std::bit_cast<float>(bits);
    if (x != 1.0f) worst = std::max(worst, ulps(natural_log(x), std::log(static_cast<Long>(x))));
  }
  EXPECT_LT(worst, 0.90);
}

// The radii of the normal and t laws come from (0, 1]; near 1 the logarithm is small and must stay accurate.
TEST(Elementary, LogarithmOfUniforms) {
  double worst = 0.0;
  for (std::uint32_t bits = 0x2f000000u; bits < 0x3f800000u; bits += 211) {
    const float x = std::bit_cast<float>(bits);
    worst = std::max(worst, ulps(natural_log(x), std::log(static_cast<Long>(x))));
  }
  for (std::uint32_t bits = 0x3f800000u - 20000; bits < 0x3f800000u; ++bits) {
    const float x = std::bit_cast<float>(bits);
    worst = std::max(worst, ulps(natural_log(x), std::log(static_cast<Long>(x))));
  }
  EXPECT_LT(worst, 0.90);
  EXPECT_EQ(natural_log(1.0f), 0.0f);
}

TEST(Elementary, SineAndCosine) {
  double worst = 0.0;
  for (int i = -500000; i <= 500000; ++i) {
    const float x = static_cast<float>(i) / 500000.0f;
    float sine, cosine;
    sine_cosine_pi(x, sine, cosine);
    const Long angle = kPi * static_cast<Long>(x);
    worst = std::max({worst, static_cast<double>(std::fabs(static_cast<Long>(sine) - std::sin(angle))),
                      static_cast<double>(std::fabs(static_cast<Long>(cosine) - std::cos(angle)))});
  }
  EXPECT_LT(worst, 9.5e-8);
}

TEST(Elementary, SineIsRelativelyAccurateNearZero) {
  double worst = 0.0;
  for (int exponent = -40; exponent < -2; ++exponent)
    for (int k = 0; k < 1000; ++k) {
      const float x = std::ldexp(1.0f + static_cast<float>(k) / 1000.0f, exponent);
      float sine, cosine;
      sine_cosine_pi(x, sine, cosine);
      worst = std::max(worst, ulps(sine, std::sin(kPi * static_cast<Long>(x))));
    }
  EXPECT_LT(worst, 1.7);
}

TEST(Elementary, SineAndCosineAreExactAtQuarterTurns) {
  const float expected[5][3] = {{-1, 0, -1}, {-0.5f, -1, 0}, {0, 0, 1}, {0.5f, 1, 0}, {1, 0, -1}};
  for (const auto& [x, expected_sine, expected_cosine] : expected) {
    float sine, cosine;
    sine_cosine_pi(x, sine, cosine);
    EXPECT_EQ(sine, expected_sine) << x;
    EXPECT_EQ(cosine, expected_cosine) << x;
  }
}

TEST(Elementary, PowerOfTwoMinusOne) {
  const auto error = [](double x) {
    const float y = static_cast<float>(x);
    return y == 0.0f ? 0.0 : ulps(exp2_minus_one(y), std::expm1(static_cast<Long>(y) * std::log(2.0L)));
  };
  EXPECT_LT(largest(-60.0, 60.0, 1200000, error), 2.5);
  for (double scale = 1.0; scale > 1e-12; scale /= 4) EXPECT_LT(largest(-scale, scale, 2000, error), 2.5) << scale;
  EXPECT_EQ(exp2_minus_one(0.0f), 0.0f);
  EXPECT_EQ(exp2_minus_one(60.0f), 0x1p60f);
  EXPECT_EQ(exp2_minus_one(-60.0f), -1.0f);
}

TEST(Elementary, FloatExponential) {
  const auto error = [](double x) {
    const float y = static_cast<float>(x);
    return ulps(exponential(y), std::exp(static_cast<Long>(y)));
  };
  EXPECT_LT(largest(-87.0, 87.0, 2000000, error), 1.15);
  EXPECT_EQ(exponential(0.0f), 1.0f);
}

TEST(Elementary, DoubleExponential) {
  const auto error = [](double x) { return ulps(exponential(x), std::exp(static_cast<Long>(x))); };
  EXPECT_LT(largest(-700.0, 700.0, 2000000, error), 1.05);
  EXPECT_LT(largest(-1.0, 1.0, 500000, error), 1.05);
  EXPECT_EQ(exponential(0.0), 1.0);
}

TEST(Elementary, ExponentialIsClamped) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(1e30f), exponential(87.0f));
  EXPECT_EQ(exponential(-1e30f), exponential(-87.0f));
  EXPECT_EQ(exponential(infinite), exponential(87.0f));
  EXPECT_EQ(exponential(1e300), exponential(700.0));
  EXPECT_EQ(exponential(-1e300), exponential(-700.0));
  EXPECT_GT(exponential(-87.0f), 0.0f);
  EXPECT_LT(exponential(700.0), std::numeric_limits<double>::infinity());
}

template <class Real>
double logistic_error(double x) {
  const Real y = static_cast<Real>(x);
  return static_cast<double>(
      std::fabs(static_cast<Long>(logistic(y)) - 1.0L / (1.0L + std::exp(-static_cast<Long>(y)))));
}

TEST(Elementary, Logistic) {
  EXPECT_LT(largest(-120.0, 120.0, 600000, logistic_error<float>), 1.0e-7);
  EXPECT_LT(largest(-10.0, 10.0, 600000, logistic_error<float>), 1.0e-7);
  EXPECT_LT(largest(-750.0, 750.0, 600000, logistic_error<double>), 2.0e-16);
  EXPECT_LT(largest(-10.0, 10.0, 600000, logistic_error<double>), 2.0e-16);
  EXPECT_EQ(logistic(0.0f), 0.5f);
  EXPECT_EQ(logistic(0.0), 0.5);
  EXPECT_EQ(logistic(1000.0), 1.0);
  EXPECT_GT(logistic(-1000.0), 0.0);  // clamped, so that its logarithm is finite
}

TEST(Elementary, LogisticIsRelativelyAccurateInTheLowerTail) {
  const auto error = [](double x) { return ulps(logistic(x), 1.0L / (1.0L + std::exp(-static_cast<Long>(x)))); };
  EXPECT_LT(largest(-690.0, 0.0, 500000, error), 2.6);
}

template <class Real>
double link_error(double x) {
  const Real y = static_cast<Real>(x);
  return static_cast<double>(std::fabs(static_cast<Long>(index_link(y)) - std::tanh(static_cast<Long>(y))));
}

TEST(Elementary, IndexLinkIsTanh) {
  EXPECT_LT(largest(-60.0, 60.0, 600000, link_error<float>), 2.0e-7);
  EXPECT_LT(largest(-5.0, 5.0, 600000, link_error<float>), 2.0e-7);
  EXPECT_LT(largest(-400.0, 400.0, 600000, link_error<double>), 4.0e-16);
  EXPECT_LT(largest(-5.0, 5.0, 600000, link_error<double>), 4.0e-16);
  EXPECT_EQ(index_link(0.0), 0.0);
  EXPECT_EQ(index_link(1e6), 1.0);
  EXPECT_EQ(index_link(-1e6), -1.0);
  EXPECT_EQ(index_link(-1e6f), -1.0f);
}

TEST(Elementary, IndexLinkSlopeIsTheDerivativeOfTanh) {
  EXPECT_LT(largest(-5.0, 5.0, 10000,
                    [](double z) {
                      const Long cosh = std::cosh(static_cast<Long>(z));
                      return static_cast<double>(
                          std::fabs(static_cast<Long>(index_link_slope(index_link(z))) - 1.0L / (cosh * cosh)));
                    }),
            8e-16);
}

}  // namespace
}  // namespace pandora
