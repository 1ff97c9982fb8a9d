#include "host/ground/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "host/ground/statistics/resampling.hpp"

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

TEST(PairedDifference, ByHand) {
  const PairedDifference d = paired_difference({1.0, 4.0, 3.0, 8.0}, {2.0, 6.0, 3.0, 9.0});
  // The differences -1, -2, 0, -1 have the mean -1, squared deviations 0 + 1 + 1 + 0, and the variance 2 / 3.
  EXPECT_DOUBLE_EQ(d.difference.mean, -1.0);
  const double error = std::sqrt(2.0 / 3.0 / 4.0);
  EXPECT_NEAR(d.difference.half_width_95, 3.18244630528 * error, 1e-9);
  EXPECT_NEAR(d.p, student_t_p_value(1.0 / error, 3.0), 1e-15);
  EXPECT_DOUBLE_EQ(d.share_below, 3.5 / 4.0);
  // Squared deviations are 9 + 0 + 1 + 16 for a about 4, and 9 + 1 + 4 + 16 for b about 5.
  EXPECT_NEAR(d.relative_efficiency, (26.0 + 30.0) / 2.0, 1e-12);
}

TEST(PairedDifference, OfTooLittleIsUnknown) {
  EXPECT_TRUE(std::isnan(paired_difference({}, {}).difference.mean));
  const PairedDifference one = paired_difference({2.0}, {1.0});
  EXPECT_EQ(one.difference.mean, 1.0);
  EXPECT_TRUE(std::isnan(one.difference.half_width_95));
  EXPECT_TRUE(std::isnan(one.p));
  const PairedDifference equal = paired_difference({1.0, 2.0}, {1.0, 2.0});
  EXPECT_EQ(equal.p, 1.0);
  EXPECT_EQ(equal.share_below, 0.5);
}

TEST(Holm, ByHand) {
  const std::vector<double> p = {0.01, 0.04, 0.03, std::nan(""), 0.5};
  const std::vector<double> adjusted = holm_adjusted(p);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.09);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.09);  // 2 x 0.04 is below the adjusted value before it
  EXPECT_TRUE(std::isnan(adjusted[3]));
  EXPECT_DOUBLE_EQ(adjusted[4], 0.5);
}

// Plain loops over the same splits would repeat the implementation. This case is known without splits.
TEST(CrossFit, OfOneHyperparameterIsTheMeanWithTheUsualInterval) {
  const std::vector<double> regrets = {3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0};
  const CrossFit fit = cross_fit({regrets});
  EXPECT_NEAR(fit.mean, 31.0 / 8.0, 1e-12);
  const PairedDifference usual = paired_difference(regrets, std::vector<double>(8, 0.0));
  EXPECT_NEAR(jackknife_estimate(fit).half_width_95, usual.difference.half_width_95, 1e-9);
}

TEST(CrossFit, TakesTheBetterOneWhereItIsBetterEverywhere) {
  const std::vector<double> good = {3.0, 1.0, 4.0, 1.0, 5.0}, bad = {4.0, 2.0, 5.0, 2.0, 6.0};
  EXPECT_NEAR(cross_fit({bad, good}).mean, 14.0 / 5.0, 1e-12);
}

// With two hyperparameters and four replications, the six splits can be done by hand. The means of pairs decide.
TEST(CrossFit, EqualsTheMeanOverAllSplitsOfFour) {
  const std::vector<std::vector<double>> x = {{0.0, 4.0, 1.0, 3.0}, {2.0, 1.0, 2.5, 2.0}};
  double sum = 0.0;
  int splits = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j, ++splits) {
      double inside[2] = {}, outside[2] = {};
      for (int h = 0; h < 2; ++h)
        for (int r = 0; r < 4; ++r)
          (r == i || r == j ? inside : outside)[h] += x[static_cast<std::size_t>(h)][static_cast<std::size_t>(r)];
      const int by_inside = inside[1] < inside[0] ? 1 : 0, by_outside = outside[1] < outside[0] ? 1 : 0;
      sum += (outside[by_inside] + inside[by_outside]) / 4.0;
    }
  const double all = sum / splits;
  // 200 random splits of the six have a standard error of at most 0.05 here.
  EXPECT_NEAR(cross_fit(x).mean, all, 0.15);
}

TEST(CrossFit, NeedsFourReplications) {
  EXPECT_TRUE(std::isnan(cross_fit({{1.0, 2.0, 3.0}}).mean));
  EXPECT_TRUE(std::isnan(jackknife_estimate(cross_fit({{1.0, 2.0, 3.0}})).half_width_95));
}

// Regrets of k hyperparameters on a shared tape. Their correlation is `common`, and their means differ by `gap`.
std::vector<std::vector<double>> made_up(std::mt19937_64& random, std::size_t k, std::size_t n, double common,
                                         double gap) {
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> x(k, std::vector<double>(n));
  for (std::size_t r = 0; r < n; ++r) {
    const double shared = normal(random);
    for (std::size_t h = 0; h < k; ++h)
      x[h][r] = std::sqrt(common) * shared + std::sqrt(1.0 - common) * normal(random) + gap * static_cast<double>(h);
  }
  return x;
}

double three_errors_of_share(double share, int n) {
  return 3.0 * std::sqrt(share * (1.0 - share) / n);
}

// The shares of 2,000 studies in which the 95% intervals of a mean, and of a ratio of two means, hold the truth. `law`
// has mean 0 and variance 1. Regrets are 1 + 0.2 law, and the other policy's regrets share half of this luck.
template <class Law>
std::pair<double, double> covered_in(std::size_t replications, Law&& law) {
  constexpr int kStudies = 2000;
  std::mt19937_64 random(7 + replications);
  int means = 0, ratios = 0;
  // A fit with one hyperparameter: the mean without each replication.
  const auto fit = [](const std::vector<double>& x) {
    CrossFit out{estimate(x).mean, {}};
    const double n = static_cast<double>(x.size());
    for (const double own : x) out.without.push_back((n * out.mean - own) / (n - 1.0));
    return out;
  };
  for (int study = 0; study < kStudies; ++study) {
    std::vector<double> a, b;
    for (std::size_t r = 0; r < replications; ++r) {
      const double luck = law(random);
      a.push_back(1.0 + 0.2 * luck);
      b.push_back(2.0 + 0.4 * std::sqrt(0.5) * (luck + law(random)));
    }
    const Estimate found = estimate(a);
    means += std::abs(found.mean - 1.0) <= found.half_width_95 ? 1 : 0;
    const AsymmetricInterval ratio = ratio_of_means(fit(a), fit(b)).interval;
    ratios += ratio.low <= 0.5 && 0.5 <= ratio.high ? 1 : 0;
  }
  return {means / double{kStudies}, ratios / double{kStudies}};
}

TEST(Coverage, OfFewNormalReplicationsIsNominal) {
  for (const std::size_t replications : {2, 3, 5, 10, 20}) {
    const auto [means, ratios] =
        covered_in(replications, [](auto& random) { return std::normal_distribution<double>()(random); });
    EXPECT_NEAR(means, 0.95, three_errors_of_share(0.95, 2000)) << replications;
    EXPECT_NEAR(ratios, 0.95, three_errors_of_share(0.95, 2000)) << replications;
  }
}

// The numbers of docs/results.md for exponential and lognormal regrets.
TEST(Coverage, OfFewSkewedReplicationsIsLess) {
  const double spread = std::sqrt(std::exp(1.0) * (std::exp(1.0) - 1.0));
  for (const std::size_t replications : {2, 3, 5, 10, 20}) {
    const double exponential = covered_in(replications, [](auto& random) {
                                 return std::exponential_distribution<double>()(random) - 1.0;
                               }).first;
    EXPECT_GT(exponential, 0.87) << replications;
    EXPECT_LT(exponential, 0.94) << replications;
    const double lognormal = covered_in(replications, [&](auto& random) {
                               return (std::lognormal_distribution<double>()(random) - std::exp(0.5)) / spread;
                             }).first;
    EXPECT_GT(lognormal, 0.79) << replications;
    EXPECT_LT(lognormal, 0.91) << replications;
  }
}

struct Covered {
  double share, mean, mean_error, best;
};

// The coverage of the quantity that cross-fitting estimates: the expected regret of the hyperparameter that half of the
// replications choose.
Covered coverage_of_cross_fit(std::size_t k, std::size_t n, double common, double gap, int trials) {
  std::mt19937_64 random(2);
  std::vector<Estimate> found;
  std::vector<double> means;
  double best = 0.0;
  for (int trial = 0; trial < trials; ++trial) {
    const auto x = made_up(random, k, n, common, gap);
    found.push_back(jackknife_estimate(cross_fit(x)));
    means.push_back(found.back().mean);
    double least = 1e300;
    for (const std::vector<double>& own : x) least = std::min(least, estimate(own).mean);
    best += least / trials;
  }
  const Estimate target = estimate(means);
  int covered = 0;
  for (const Estimate& e : found) covered += std::abs(e.mean - target.mean) <= e.half_width_95 ? 1 : 0;
  return {covered / static_cast<double>(trials), target.mean, target.standard_error, best};
}

TEST(Coverage, OfTheCrossFittedEstimateIsNominalForLanesOnCommonTapes) {
  constexpr int kTrials = 600;
  const Covered found = coverage_of_cross_fit(5, 24, 0.9, 0.3, kTrials);
  EXPECT_NEAR(found.share, 0.95, three_errors_of_share(0.95, kTrials));
}

// If all hyperparameters are equally good, the least mean is far too small, and the cross-fitted mean is not. Its
// interval is then rather too wide than too narrow.
TEST(Coverage, BestOfKFlattersAndCrossFittingDoesNot) {
  constexpr int kTrials = 400;
  const Covered found = coverage_of_cross_fit(6, 24, 0.5, 0.0, kTrials);
  EXPECT_NEAR(found.mean, 0.0, 3.0 * found.mean_error);
  EXPECT_LT(found.best, -10.0 * found.mean_error);
  EXPECT_GT(found.share, 0.95 - three_errors_of_share(0.95, kTrials));
}

}  // namespace
}  // namespace pandora
