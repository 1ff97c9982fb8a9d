#include "host/ground/statistics/resampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace pandora {
namespace {

using Draw = std::function<double(std::mt19937_64&)>;

std::vector<double> sample(std::mt19937_64& random, std::size_t n, const Draw& draw) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(draw(random));
  return out;
}

double bound_of_share(double share, int trials) {
  return 3.0 * std::sqrt(share * (1.0 - share) / trials);
}

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

// The coverage of one mean by the t interval and by the bootstrap's interval.
struct Shares {
  double t = 0.0, bootstrap = 0.0;
};
Shares coverage_of_mean(std::size_t n, int trials, double mean, const Draw& draw) {
  std::mt19937_64 random(3);
  Shares out;
  for (int trial = 0; trial < trials; ++trial) {
    const std::vector<double> x = sample(random, n, draw);
    const Estimate t = paired_difference(x, std::vector<double>(n, 0.0)).difference;
    const AsymmetricInterval bootstrap = bootstrap_interval(x);
    out.t += (std::abs(t.mean - mean) <= t.half_width_95 ? 1.0 : 0.0) / trials;
    out.bootstrap += (bootstrap.low <= mean && mean <= bootstrap.high ? 1.0 : 0.0) / trials;
  }
  return out;
}

TEST(BootstrapInterval, CoversTheMeanOfANormalLawAsTDoes) {
  constexpr int kTrials = 500;
  const Shares found = coverage_of_mean(24, kTrials, 0.0, normal);
  EXPECT_NEAR(found.bootstrap, 0.95, bound_of_share(0.95, kTrials));
  EXPECT_NEAR(found.t, 0.95, bound_of_share(0.95, kTrials));
}

// Under a skewed law the coverage of t is too low, and that of the bootstrap is not.
TEST(BootstrapInterval, CoversTheMeanOfASkewedLawWhereTFallsShort) {
  constexpr int kTrials = 1000;
  const Shares found = coverage_of_mean(
      12, kTrials, 1.0, [](std::mt19937_64& random) { return std::exponential_distribution()(random); });
  EXPECT_NEAR(found.bootstrap, 0.95, bound_of_share(0.95, kTrials));
  EXPECT_LT(found.t, 0.95 - bound_of_share(0.95, kTrials));
}

// The interval moves with the mean when values are shifted and change sign, and is the same every time.
TEST(BootstrapInterval, MovesWithItsValues) {
  std::mt19937_64 random(5);
  const std::vector<double> x = sample(random, 20, [](std::mt19937_64& r) { return std::exp(normal(r)); });
  std::vector<double> moved;
  for (const double value : x) moved.push_back(7.0 - 2.0 * value);
  const AsymmetricInterval one = bootstrap_interval(x), other = bootstrap_interval(moved);
  EXPECT_NEAR(other.low, 7.0 - 2.0 * one.high, 1e-9);
  EXPECT_NEAR(other.high, 7.0 - 2.0 * one.low, 1e-9);
  EXPECT_EQ(one.low, bootstrap_interval(x).low);
  const Estimate t = paired_difference(x, std::vector<double>(20, 0.0)).difference;
  EXPECT_GT(one.high - t.mean, t.half_width_95);  // the values have a long tail to the right
  EXPECT_LT(t.mean - one.low, t.half_width_95);
}

TEST(BootstrapInterval, IsNotKnownOfTooLittle) {
  EXPECT_FALSE(bootstrap_interval({}).known());
  EXPECT_FALSE(bootstrap_interval(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}).known());
  EXPECT_FALSE(bootstrap_interval(std::vector<double>(20, 4.0)).known());
  std::vector<double> nearly(20, 4.0);
  nearly[3] = 5.0;  // a third of all resamples lack this value
  EXPECT_FALSE(bootstrap_interval(nearly).known());
}

TEST(BootstrapInterval, DiffersFromTAboutZeroOrByAFifth) {
  const Estimate t{1.0, 1.1};  // the interval from -0.1 to 2.1
  EXPECT_FALSE(differ(t, {-0.1, 2.1}));
  EXPECT_FALSE(differ(t, {-0.3, 1.9}));
  EXPECT_TRUE(differ(t, {0.01, 2.1}));
  EXPECT_TRUE(differ(t, {-0.1, 2.33}));
  EXPECT_FALSE(differ(t, {}));
  EXPECT_FALSE(differ({1.0, std::nan("")}, {0.0, 2.0}));
}

// statistics_test.cpp measures the coverage of the interval.
TEST(RatioOfMeans, ByHandAndWhereThereIsNone) {
  const CrossFit a{2.0, {1.5, 2.5, 2.0}}, b{4.0, {4.0, 4.0, 4.0}};
  const RatioOfMeans found = ratio_of_means(a, b);
  EXPECT_EQ(found.ratio, 0.5);
  const double x[] = {std::log(0.375), std::log(0.625), std::log(0.5)}, mean = (x[0] + x[1] + x[2]) / 3.0;
  double squares = 0.0;
  for (const double one : x) squares += (one - mean) * (one - mean);
  const double half = 4.30265272991 * std::sqrt(2.0 / 3.0 * squares);
  EXPECT_NEAR(found.interval.low, 0.5 * std::exp(-half), 1e-9);
  EXPECT_NEAR(found.interval.high, 0.5 * std::exp(half), 1e-9);
  EXPECT_TRUE(std::isnan(ratio_of_means({-2.0, {-2.0, -2.0}}, b).ratio));
  EXPECT_TRUE(std::isnan(ratio_of_means(a, {0.0, {0.0, 0.0, 0.0}}).ratio));
  EXPECT_EQ(ratio_of_means(a, {4.0, {}}).ratio, 0.5);
  EXPECT_FALSE(ratio_of_means(a, {4.0, {}}).interval.known());
  EXPECT_FALSE(ratio_of_means(a, {4.0, {4.0, -1.0, 4.0}}).interval.known());
}

const std::vector<double> kPeriods = {100, 200, 500, 1000, 2000, 5000, 10000};

TEST(GrowthExponent, IsThatOfTheMeanCurve) {
  std::vector<std::vector<double>> curves;
  for (const double factor : {1.0, 3.0, 7.0}) {
    std::vector<double>& curve = curves.emplace_back();
    for (const double t : kPeriods) curve.push_back(factor * std::pow(t, 0.6));
  }
  EXPECT_NEAR(growth_exponent(kPeriods, curves, 300).mean, 0.6, 1e-12);
  EXPECT_NEAR(growth_exponent(kPeriods, curves, 300).half_width_95, 0.0, 1e-9);  // all exponents are equal
  EXPECT_TRUE(std::isnan(growth_exponent(kPeriods, {curves[0]}, 300).half_width_95));
  EXPECT_TRUE(std::isnan(growth_exponent(kPeriods, curves, 9999).mean));
  EXPECT_TRUE(std::isnan(growth_exponent(kPeriods, {}, 300).mean));
}

TEST(GrowthExponent, TakesOnlyPointsFromItsBeginningOnThatHaveALogarithm) {
  const std::vector<double> x = {1, 2, 4, 8, 16, 0, 128}, y = {-5, 99, 4, 8, 16, 7, NAN};
  EXPECT_NEAR(growth_exponent(x, {y}, 3).mean, 1.0, 1e-12);
  EXPECT_TRUE(std::isnan(growth_exponent(x, {y}, 5).mean));
  EXPECT_TRUE(std::isnan(growth_exponent({7, 7, 7}, {{1, 2, 3}}, 0).mean));
}

// Replications grow differently: a sqrt(t) + b t. The estimate is the exponent of the expected curve.
TEST(GrowthExponent, IsCoveredByTheJackknife) {
  constexpr int kTrials = 1000, kReplications = 30;
  std::mt19937_64 random(9);
  const auto curve_of = [](double a, double b) {
    std::vector<double> out;
    for (const double t : kPeriods) out.push_back(a * std::sqrt(t) + b * 0.005 * t);
    return out;
  };
  const double e = std::exp(0.5 * 0.25), wanted = growth_exponent(kPeriods, {curve_of(e, e)}, 300).mean;
  double covered = 0.0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<std::vector<double>> curves;
    for (int r = 0; r < kReplications; ++r) {
      const double a = std::exp(0.5 * normal(random)), b = std::exp(0.5 * normal(random));
      curves.push_back(curve_of(a, b));
    }
    const Estimate found = growth_exponent(kPeriods, curves, 300);
    covered += std::abs(found.mean - wanted) <= found.half_width_95 ? 1.0 : 0.0;
  }
  EXPECT_NEAR(covered / kTrials, 0.95, bound_of_share(0.95, kTrials));
}

}  // namespace
}  // namespace pandora
