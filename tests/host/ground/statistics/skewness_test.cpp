// Quantiles of means of skewed values.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {
namespace {

TEST(Skewness, ByHand) {
  EXPECT_NEAR(skewness({0.0, 0.0, 0.0, 1.0}), 2.0 / std::sqrt(3.0), 1e-12);  // (1 - 2 p) / sqrt(p (1 - p))
  EXPECT_EQ(skewness({2.0, 2.0, 2.0}), 0.0);
  EXPECT_NEAR(least_values(2.0), 100.0, 1e-12);
  // 3 / 0.3 (cbrt(1 - 0.3 x 1.71) - 1)
  EXPECT_NEAR(skewed_quantile(-1.66, 3.0, 100), 10.0 * (std::cbrt(0.487) - 1.0), 1e-12);
  EXPECT_EQ(skewed_quantile(-1.66, 0.0, 100), -1.66);
  EXPECT_NEAR(skewed_quantile(1.66, -3.0, 100), -skewed_quantile(-1.66, 3.0, 100), 1e-12);
  EXPECT_NEAR(skewed_quantile(-1.66, 2e-5, 100), skewed_quantile(-1.66, 0.99e-5, 100), 1e-5);
}

TEST(Skewness, ComesOutAgain) {
  for (const double skewness : {-2.0, -1e-9, 0.0, 0.7, 3.0})
    for (const double t : {-4.0, -0.1, 0.0, 2.5})
      EXPECT_NEAR(unskewed(skewed_quantile(t, skewness, 30), skewness, 30), t, 1e-9) << skewness << " " << t;
  for (const double skewness : {-2.0, 0.0, 3.0}) EXPECT_EQ(unskewed(-HUGE_VAL, skewness, 30), -HUGE_VAL);
}

// Upper bounds on the mean of exponential values: Student's t is exceeded too often, Hall's quantile is not.
TEST(Skewness, HallsBoundHoldsWhereStudentsDoesNot) {
  constexpr int kSamples = 4000;
  constexpr std::size_t kValues = 40;
  std::mt19937_64 bits(1);
  std::exponential_distribution<double> draw(1.0);
  const double t = student_t_quantile(0.05, kValues - 1.0);
  int by_t = 0, by_hall = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> values(kValues);
    double mean = 0.0, squares = 0.0;
    for (double& x : values) mean += (x = draw(bits)) / kValues;
    for (const double x : values) squares += (x - mean) * (x - mean);
    const double error = std::sqrt(squares / (kValues - 1.0) / kValues);
    by_t += mean - t * error < 1.0;
    by_hall += mean - skewed_quantile(t, skewness(values), kValues) * error < 1.0;
  }
  const double error = std::sqrt(0.05 * 0.95 * kSamples);
  EXPECT_GT(by_t, 0.05 * kSamples + 8.0 * error);
  EXPECT_LT(by_hall, 0.05 * kSamples + 5.0 * error);  // 6%: the skewness is estimated
}

}  // namespace
}  // namespace pandora
