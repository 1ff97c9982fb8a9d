#include "kernels/base/lanes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pandora {
namespace {

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST(Lanes, AQuickSumIsDoubtfulOrExact) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  int doubtful = 0;
  for (int i = 0; i < 3'000'000; ++i) {
    // With few digits, sums are ties or close to ties. With small factors, results are subnormal.
    const int digits = static_cast<int>(random() % 24) + 1, shift = static_cast<int>(random() % 80);
    const float a = std::ldexp(std::round(std::ldexp(uniform(random), digits)), -digits);
    const float b = std::ldexp(uniform(random), -shift);
    const float c = i % 3 == 0 ? -a * b : std::ldexp(uniform(random), -static_cast<int>(random() % 150));
    QuickFused quick;
    const float value = quick(a, b, c);
    if (quick.least() != 0)
      ASSERT_TRUE(same(value, std::fma(a, b, c))) << a << " " << b << " " << c;
    else
      ++doubtful;
  }
  EXPECT_GT(doubtful, 1000);
  EXPECT_LT(doubtful, 1'500'000);
}

TEST(Lanes, ALoopIsExactThoughOneOfItsSumsIsDoubtful) {
  constexpr int W = 16;
  float a[W], c[W], out[W], sum[W];
  for (int lane = 0; lane < W; ++lane) {
    a[lane] = 0.1f * static_cast<float>(lane + 1);
    sum[lane] = c[lane] = 0.3f;
  }
  a[5] = 1.0f + 0x1p-23f;  // a[5] + b[5] lies in the middle of two floats, and c[5] adds a little
  c[5] = sum[5] = 0x1p-80f;
  const float b = 1.5f;
  for_lanes<W>([&](int lane, auto& fused) { out[lane] = fused(a[lane], b, c[lane]); });
  assign_lanes<W>(sum, [&](int lane, auto& fused) { return fused(a[lane], b, sum[lane]); });
  for (int lane = 0; lane < W; ++lane) {
    EXPECT_TRUE(same(out[lane], std::fma(a[lane], b, c[lane]))) << lane;
    EXPECT_TRUE(same(sum[lane], out[lane])) << lane;
  }
}

}  // namespace
}  // namespace pandora
