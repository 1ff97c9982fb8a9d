// Quantiles for means of skewed values, of Student's t, and of the beta distribution.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {
namespace {

// Compares with values from printed tables.
TEST(StudentT, EqualsTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1.0), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10.0), 2.2281, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 49.0), 2.0096, 1e-4);
  EXPECT_NEAR(student_t_p_value(2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_NEAR(student_t_p_value(-2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_EQ(student_t_p_value(0.0, 5.0), 1.0);
  EXPECT_TRUE(std::isnan(student_t_p_value(NAN, 5.0)));
  EXPECT_EQ(student_t_p_value(-INFINITY, 5.0), 0.0);
}

// The laws of the greatest and of the least of b uniform numbers.
TEST(BetaQuantile, EqualsClosedForms) {
  for (const double p : {0.025, 0.5, 0.975})
    for (const double b : {1.0, 3.0, 60.0}) {
      EXPECT_NEAR(beta_quantile(p, 1.0, b), 1.0 - std::pow(1.0 - p, 1.0 / b), 1e-14);
      EXPECT_NEAR(beta_quantile(p, b, 1.0), std::pow(p, 1.0 / b), 1e-14);
    }
}

TEST(Skewness, ByHand) {
  EXPECT_NEAR(skewness({0.0, 0.0, 0.0, 1.0}), 2.0 / std::sqrt(3.0), 1e-12);  // (1 - 2 p) / sqrt(p (1 - p))
  EXPECT_EQ(skewness({2.0, 2.0, 2.0}), 0.0);
  EXPECT_NEAR(least_values(2.0), 100.0, 1e-12);
  // The quantile is 3 / 0.3 (cbrt(1 - 0.3 x 1.71) - 1).
  const double quantile = 10.0 * (std::cbrt(0.487) - 1.0);
  EXPECT_NEAR(unskewed(quantile, 3.0, 100), -1.66, 1e-12);
  EXPECT_NEAR(unskewed(-quantile, -3.0, 100), 1.66, 1e-12);
  EXPECT_EQ(unskewed(-1.66, 0.0, 100), -1.66);
  EXPECT_NEAR(unskewed(-1.66, 2e-5, 100), unskewed(-1.66, 0.99e-5, 100), 1e-5);
  for (const double skewness : {-2.0, 0.0, 3.0}) EXPECT_EQ(unskewed(-HUGE_VAL, skewness, 30), -HUGE_VAL);
}

// Upper bounds on the mean of exponential values. The bound by Student's t fails too often, and Hall's does not.
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
    by_hall += unskewed((mean - 1.0) / error, skewness(values), kValues) < t;
  }
  const double error = std::sqrt(0.05 * 0.95 * kSamples);
  EXPECT_GT(by_t, 0.05 * kSamples + 8.0 * error);
  EXPECT_LT(by_hall, 0.05 * kSamples + 5.0 * error);  // 6%, because the skewness is only estimated
}

}  // namespace
}  // namespace pandora
