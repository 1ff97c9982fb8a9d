// The exponent of a power law from points.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "host/ground/statistics/resampling.hpp"

namespace pandora {
namespace {

TEST(PowerLaw, IsExactOnExactPowers) {
  std::vector<double> x, y;
  for (int i = 1; i <= 20; ++i) {
    x.push_back(10. * i);
    y.push_back(3 * std::pow(10. * i, 0.52));
  }
  const auto law = fit_power_law(x, y);
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->exponent, 0.52, 1e-12);
  EXPECT_NEAR(law->factor, 3, 1e-11);
  EXPECT_NEAR(law->standard_error, 0, 1e-12);
  EXPECT_EQ(law->points, 20u);
}

TEST(PowerLaw, TakesOnlyPointsBetweenItsEndsThatHaveALogarithm) {
  const std::vector<double> x = {1, 2, 4, 8, 16, 32, 64, 0, 128}, y = {-5, 2, 4, 8, 16, 32, 1000, 7, NAN};
  const auto law = fit_power_law(x, y, 1, 32);
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->exponent, 1, 1e-12);
  EXPECT_EQ(law->points, 5u);
}

TEST(PowerLaw, NeedsThreePointsOfDifferentX) {
  const std::vector<double> x = {1, 2, 3}, same = {7, 7, 7}, y = {1, 2, 3}, negative = {1, -2, 3};
  EXPECT_TRUE(fit_power_law(x, y));
  EXPECT_FALSE(fit_power_law(x, negative));
  EXPECT_FALSE(fit_power_law(same, y));
  EXPECT_THROW(fit_power_law(x, std::vector<double>{1}), std::logic_error);
}

// Over many draws the errors of the exponent have the size that the standard errors say.
TEST(PowerLaw, StandardErrorIsThatOfNoise) {
  std::mt19937 generator(7);
  std::normal_distribution<> noise(0, 0.2);
  double squares = 0;
  const int draws = 400;
  for (int d = 0; d < draws; ++d) {
    std::vector<double> x, y;
    for (int i = 1; i <= 40; ++i) {
      x.push_back(i);
      y.push_back(2 * std::pow(i, 0.7) * std::exp(noise(generator)));
    }
    const auto law = fit_power_law(x, y);
    ASSERT_TRUE(law);
    squares += std::pow((law->exponent - 0.7) / law->standard_error, 2);
  }
  // Squares of a t with 38 degrees of freedom: mean 38/36, standard error of the mean of 400 about 0.08.
  EXPECT_NEAR(squares / draws, 38. / 36, 4 * 0.08);
}

}  // namespace
}  // namespace pandora
