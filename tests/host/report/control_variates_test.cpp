// Adjusted means against closed forms, a naive twin, and the coverage that their errors promise.
#include "host/report/control_variates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "host/report/panels.hpp"
#include "host/studies/results/summary.hpp"
#include "pandora/replication.hpp"

namespace pandora {
namespace {

std::vector<double> normals(std::mt19937_64& random, std::size_t n, double mean = 0.0, double deviation = 1.0) {
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<double> out(n);
  for (double& value : out) value = normal(random);
  return out;
}

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum;
}

TEST(AdjustedMean, WithoutCovariatesIsThePlainMean) {
  const std::vector<double> values = {3.0, 5.0, 4.0, 8.0};
  const AdjustedMean mean = adjusted_mean(values, {}, {});
  const Estimate plain = estimate(values);
  EXPECT_NEAR(mean.mean.mean, plain.mean, 1e-12);
  EXPECT_NEAR(mean.mean.half_width_95, plain.half_width_95, 1e-12);
  EXPECT_NEAR(1.96 * std::sqrt(sum_of_squares(mean.error) / (4.0 * 3.0)), plain.half_width_95, 1e-12);
  EXPECT_NEAR(sum_of_squares(mean.residual) / 3.0, 14.0 / 3.0, 1e-12);
  EXPECT_TRUE(std::isnan(adjusted_mean({1.0}, {}, {}).mean.mean));
}

// One regressor: the line through two sums that anyone can write down.
TEST(AdjustedMean, AtAKnownHeaderIsTheLineThere) {
  std::mt19937_64 random(3);
  const std::vector<double> x = normals(random, 40, 500.0, 30.0), e = normals(random, 40);
  std::vector<double> y(40);
  double mx = 0.0, my = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t r = 0; r < 40; ++r) {
    y[r] = 7.0 + 0.02 * x[r] + e[r];
    mx += x[r] / 40.0;
    my += y[r] / 40.0;
  }
  for (std::size_t r = 0; r < 40; ++r) {
    sxx += (x[r] - mx) * (x[r] - mx);
    sxy += (x[r] - mx) * (y[r] - my);
  }
  const double slope = sxy / sxx;
  const AdjustedMean found = adjusted_mean(y, {{x, 520.0, 0.01}}, {});
  EXPECT_NEAR(found.mean.mean, my + slope * (520.0 - mx), 1e-9);
  EXPECT_NEAR(found.rounding_error, std::abs(slope) * 0.01 / std::sqrt(12.0), 1e-12);
  double squares = 0.0, influence = 0.0;
  for (std::size_t r = 0; r < 40; ++r) {
    const double residual = y[r] - my - slope * (x[r] - mx),
                 moved = residual * (1.0 + 40.0 * (520.0 - mx) * (x[r] - mx) / sxx);
    squares += residual * residual;
    influence += moved * moved;
  }
  EXPECT_NEAR(sum_of_squares(found.residual) / 39.0, squares / 38.0, 1e-9);
  // The influences sum to 40 (x_at - mx) / sxx times the sum of (x - mx) residual, which is 0.
  EXPECT_NEAR(found.mean.half_width_95, 1.96 * std::sqrt(influence / 38.0 / 40.0), 1e-9);
}

// A covariate that is constant, or another one again, changes nothing but the degrees of freedom.
TEST(AdjustedMean, UselessCovariatesDoNoHarm) {
  std::mt19937_64 random(4);
  const std::vector<double> x = normals(random, 50), y = normals(random, 50), constant(50, 0.3);
  std::vector<double> twice = x;
  for (double& value : twice) value *= 2.0;
  const double alone = adjusted_mean(y, {{x, 0.5, 0.0}}, {}).mean.mean;
  EXPECT_NEAR(adjusted_mean(y, {{x, 0.5, 0.0}, {constant, 0.9, 0.0}}, {}).mean.mean, alone, 1e-9);
  EXPECT_NEAR(adjusted_mean(y, {{x, 0.5, 0.0}, {twice, 1.0, 0.0}}, {}).mean.mean, alone, 1e-9);
  EXPECT_NEAR(adjusted_mean(y, {}, {{constant, 0.3, 0.0}}).mean.mean, estimate(y).mean, 1e-9);
}

// Two samples of one law, of 300 and of 50 replications; of the second only the means of y and of the header are seen.
// Adjusted differences have errors as they promise, and smaller ones than unadjusted differences.
TEST(AdjustedMean, ErrorsCoverTheDifferenceToASampleWithThatHeader) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  constexpr int kTrials = 1500;
  constexpr std::size_t kOurs = 300, kTheirs = 50;
  int covered = 0;
  double squares = 0.0, adjusted_width = 0.0, plain_width = 0.0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> y, x, c;
    double their_y = 0.0, their_x = 0.0;
    for (std::size_t r = 0; r < kOurs + kTheirs; ++r) {
      const double cost = normal(random), header = cost + 0.5 * normal(random),
                   value = 2.0 * header + 0.7 * cost + normal(random);
      if (r < kOurs) {
        c.push_back(cost);
        x.push_back(header);
        y.push_back(value);
      } else {
        their_x += header / kTheirs;
        their_y += value / kTheirs;
      }
    }
    const AdjustedMean found = adjusted_mean(y, {{x, their_x, 0.0}}, {{c, 0.0, 0.0}});
    const double own = found.mean.half_width_95 / 1.96,
                 theirs = std::sqrt(sum_of_squares(found.residual) / (kOurs - 1.0) / kTheirs),
                 z = (found.mean.mean - their_y) / std::hypot(own, theirs);
    covered += std::abs(z) < 1.96 ? 1 : 0;
    squares += z * z;
    adjusted_width += std::hypot(own, theirs);
    const AdjustedMean plain = adjusted_mean(y, {}, {});
    plain_width += std::hypot(plain.mean.half_width_95 / 1.96,
                              std::sqrt(sum_of_squares(plain.residual) / (kOurs - 1.0) / kTheirs));
  }
  const double share = static_cast<double>(covered) / kTrials;
  EXPECT_NEAR(share, 0.95, 3.0 * std::sqrt(0.95 * 0.05 / kTrials));
  EXPECT_NEAR(squares / kTrials, 1.0, 3.0 * std::sqrt(2.0 / kTrials));
  EXPECT_LT(adjusted_width, 0.5 * plain_width);
}

// Against 200,000 draws, within four standard errors; three boxes with the weights of regime B.
TEST(MeanLeastGreatest, EqualsDraws) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  const double first = 0.1, second = 0.2;
  const std::array<double, 3> expected = mean_least_greatest(3, first, second);
  std::vector<double> found[3];
  for (int k = 0; k < 200000; ++k) {
    double sums[3], total = 0.0;
    for (double& sum : sums) total += sum = first * uniform(random) + second * uniform(random);
    found[0].push_back(total / 3.0);
    found[1].push_back(*std::min_element(sums, sums + 3));
    found[2].push_back(*std::max_element(sums, sums + 3));
  }
  for (int k = 0; k < 3; ++k) {
    const Estimate e = estimate(found[k]);
    EXPECT_NEAR(expected[static_cast<std::size_t>(k)], e.mean, 4.0 / 1.96 * e.half_width_95) << k;
  }
  // One box: all three are the mean. Two weights of one size: the triangular law.
  for (const double value : mean_least_greatest(1, 0.3, 0.1)) EXPECT_NEAR(value, 0.2, 1e-12);
  EXPECT_NEAR(mean_least_greatest(2, 0.5, 0.5)[1] + mean_least_greatest(2, 0.5, 0.5)[2], 1.0, 1e-12);
}

// The cost levels are what panels.hpp says of them: the expected costs of a replication's boxes, over its own contexts.
TEST(CostLevel, IsTheExpectedCost) {
  for (const Environment& environment : paper_environments())
    for (const Regime regime : {Regime::A, Regime::B}) {
      Dimensions dimensions;
      dimensions.radius_draws = 1000;
      constexpr int kPeriods = 4000;
      const Instance instance = draw_instance(dimensions, environment, regime, 0, 7);
      const Tape tape = draw_tape(instance, 0, kPeriods);
      for (int a = 0; a < 3; ++a) {
        double sum = 0.0;
        for (int t = 0; t < kPeriods; ++t) sum += tape.cost[tape.at(tape.online_row(t), a)];
        const double level = cost_level(instance, a);
        EXPECT_NEAR(sum / kPeriods, level, 0.02 * level) << environment.name << " " << regime_name(regime) << " " << a;
      }
    }
}

}  // namespace
}  // namespace pandora
