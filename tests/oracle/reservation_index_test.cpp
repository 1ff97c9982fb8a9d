#include "oracle/reservation_index.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "tests/reference/naive_index.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

using naive::G;

std::vector<float> normal_sample(int n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> sample;
  for (int i = 0; i < n; ++i) sample.push_back(normal(engine));
  std::sort(sample.begin(), sample.end(), std::greater<>());
  return sample;
}

// The values of G under a law, with their probabilities.
struct Values {
  std::vector<double> g, p;
};
Values values_of(const ProjectedLaw& law, double shift, double scale) {
  Values values;
  for (std::size_t i = 0; i < law.points.size(); ++i) {
    values.g.push_back(G(shift + scale * law.points[i]));
    values.p.push_back(law.cumulative[i] - (i == 0 ? 0.0 : law.cumulative[i - 1]));
  }
  return values;
}

double index_of(const ProjectedLaw& law, double shift, double scale, double cost) {
  ReservationSolver solver(law);
  solver.evaluate(shift, scale);
  return solver.index(cost);
}

// Solves E[(G(l + s W) - sigma)^+] = c for other links by bisection over the draws. At the shifts -5 and 5.5 the linear
// link is clipped at 0 or at 1 for some draws, which are then ties. At 30 it is clipped for all draws.
TEST(ReservationIndex, OfOtherLinks) {
  const std::vector<float> sample = normal_sample(801, 9);
  for (const RewardLink link : {RewardLink::algebraic, RewardLink::linear})
    for (const double shift : {-5.0, -1.0, 0.3, 5.5, 30.0})
      for (const double cost : {0.02, 0.2}) {
        const auto excess = [&](double sigma) {
          double sum = 0.0;
          for (const float w : sample) {
            const double z = shift + 0.8 * w, bent = 0.5 + z / (2.0 * (2.0 + std::abs(z))),
                         g = link == RewardLink::linear ? std::min(1.0, std::max(0.0, 0.5 + z / 10.0)) : bent;
            sum += std::max(g - sigma, 0.0) / 801.0;
          }
          return sum;
        };
        double low = -2.0, high = 1.0;
        for (int k = 0; k < 100; ++k) (excess(0.5 * (low + high)) > cost ? low : high) = 0.5 * (low + high);
        EXPECT_NEAR(index_of(empirical_law(sample, link), shift, 0.8, cost), low, 1e-9) << shift << " " << cost;
      }
}

// V is high with probability p and low otherwise. While sigma >= low, only the high value counts: p (high - sigma) = c.
TEST(ReservationSolver, TwoPointsInClosedForm) {
  for (double p : {0.1, 0.5, 0.9}) {
    const ProjectedLaw law{{1.5, -0.5}, {p, 1.0}};
    const double high = G(0.2 + 0.8 * 1.5), low = G(0.2 - 0.8 * 0.5);
    for (double cost : {1e-9, 1e-3, 0.02, 0.1, 0.3, 0.6, 1.2}) {
      const double expected = cost <= p * (high - low) ? high - cost / p : p * high + (1 - p) * low - cost;
      EXPECT_NEAR(index_of(law, 0.2, 0.8, cost), expected, 1e-15) << p << " " << cost;
    }
  }
}

TEST(ReservationSolver, ThreePointsInClosedForm) {
  const ProjectedLaw law{{2.0, 0.0, -1.0}, {0.2, 0.7, 1.0}};
  const double a = G(2.0), b = G(0.0), c = G(-1.0);
  // E(V - b)^+ = 0.2 (a - b) and E(V - c)^+ = 0.2 (a - c) + 0.5 (b - c).
  const double at_b = 0.2 * (a - b), at_c = 0.2 * (a - c) + 0.5 * (b - c);
  EXPECT_NEAR(index_of(law, 0, 1, at_b / 3), a - at_b / 3 / 0.2, 1e-15);
  EXPECT_NEAR(index_of(law, 0, 1, at_b), b, 1e-15);
  EXPECT_NEAR(index_of(law, 0, 1, (at_b + at_c) / 2), (0.2 * a + 0.5 * b - (at_b + at_c) / 2) / 0.7, 1e-15);
  EXPECT_NEAR(index_of(law, 0, 1, at_c), c, 1e-15);
  EXPECT_NEAR(index_of(law, 0, 1, at_c + 0.1), 0.2 * a + 0.5 * b + 0.3 * c - at_c - 0.1, 1e-15);
}

TEST(ReservationSolver, ADegenerateLaw) {
  const ProjectedLaw law{{0.7}, {1.0}};
  EXPECT_DOUBLE_EQ(index_of(law, 0.1, 2.0, 0.05), G(0.1 + 2.0 * 0.7) - 0.05);
}

TEST(ReservationSolver, SolvesItsEquationOnASample) {
  const ProjectedLaw law = empirical_law(normal_sample(2001, 1));
  ReservationSolver solver(law);
  for (double shift : {-2.0, 0.0, 1.0})
    for (double scale : {0.1, 1.0, 3.0}) {
      solver.evaluate(shift, scale);
      const Values values = values_of(law, shift, scale);
      for (double cost = 1e-6; cost < 1.5; cost *= 1.7)
        ASSERT_NEAR(naive::excess(values.g, values.p, solver.index(cost)), cost, 1e-13) << shift << " " << scale;
    }
}

TEST(ReservationSolver, EqualsBisection) {
  std::mt19937 engine(2);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + trial % 40;
    ProjectedLaw law;
    for (int i = 0; i < n; ++i) law.points.push_back(std::round(8.0 * unit(engine)) / 2.0 - 2.0);  // with ties
    std::sort(law.points.begin(), law.points.end(), std::greater<>());
    for (int i = 0; i < n; ++i) law.cumulative.push_back(unit(engine) + (i == 0 ? 0.0 : law.cumulative.back()));
    const double total = law.cumulative.back();
    for (double& value : law.cumulative) value /= total;
    const double shift = 2.0 * unit(engine) - 1.0, scale = 2.0 * unit(engine);
    const double cost = unit(engine) * (trial % 3 == 0 ? 0.01 : 1.0);
    const Values values = values_of(law, shift, scale);
    ASSERT_NEAR(index_of(law, shift, scale, cost), naive::reservation_index(values.g, values.p, cost), 1e-13);
  }
}

TEST(ReservationSolver, CostAboveTheMeanGivesANegativeIndex) {
  const std::vector<float> sample = normal_sample(1000, 3);
  const Values values = values_of(empirical_law(sample), -1.0, 0.5);
  const double mean = std::inner_product(values.g.begin(), values.g.end(), values.p.begin(), 0.0);
  EXPECT_NEAR(index_of(empirical_law(sample), -1.0, 0.5, mean + 0.25), -0.25, 1e-14);  // not clipped at 0
  EXPECT_NEAR(index_of(empirical_law(sample), -1.0, 0.5, mean), 0.0, 1e-14);
}

TEST(EmpiricalLaw, OnePointPerDraw) {
  const std::vector<float> sample = normal_sample(777, 5);
  const ProjectedLaw law = empirical_law(sample);
  ASSERT_EQ(law.points.size(), sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    EXPECT_EQ(law.points[i], static_cast<double>(sample[i]));
    EXPECT_DOUBLE_EQ(law.cumulative[i], static_cast<double>(i + 1) / 777.0);
  }
}

TEST(CompressedLaw, BinsAreMeansOfConsecutiveDraws) {
  const ProjectedLaw law = compressed_law({9.0f, 7.0f, 5.0f, 4.0f, 2.0f, 0.0f, -6.0f}, 3);  // 2 + 2 + 3 draws
  EXPECT_EQ(law.points, (std::vector<double>{8.0, 4.5, -4.0 / 3.0}));
  EXPECT_EQ(law.cumulative, (std::vector<double>{2.0 / 7.0, 4.0 / 7.0, 1.0}));
}

TEST(CompressedLaw, MoreBinsThanDrawsIsTheSample) {
  const std::vector<float> sample = normal_sample(10, 6);
  EXPECT_EQ(compressed_law(sample, 1000).points, empirical_law(sample).points);
}

TEST(CompressedLaw, MovesTheIndexByLessThanDocumented) {
  const std::vector<float> sample = normal_sample(400000, 7);
  const ProjectedLaw exact = empirical_law(sample), bins = compressed_law(sample, 4000);
  ASSERT_EQ(bins.points.size(), 4000u);
  EXPECT_EQ(bins.cumulative.back(), 1.0);
  double worst = 0.0;
  for (double shift : {-1.5, 0.0, 1.0})
    for (double scale : {0.5, 2.0}) {
      ReservationSolver a(exact), b(bins);
      a.evaluate(shift, scale);
      b.evaluate(shift, scale);
      for (double cost : {1e-3, 1e-2, 0.1, 0.25, 0.5}) worst = std::max(worst, std::abs(a.index(cost) - b.index(cost)));
    }
  EXPECT_LT(worst, 1e-5);
  EXPECT_GT(worst, 0.0);  // so the law was really compressed
}

// The standard error must be the standard deviation of sigma over fresh samples of the same law. 600 samples estimate
// it with an error of 1 / sqrt(1200) = 2.9%, so 15% is five standard errors.
TEST(ReservationSolver, StandardErrorIsThatOfFreshSamples) {
  constexpr int kDraws = 500, kSamples = 600;
  for (double cost : {0.02, 0.15, 0.9}) {
    std::vector<double> sigma;
    double reported = 0.0;
    for (unsigned seed = 0; seed < kSamples; ++seed) {
      const ProjectedLaw law = empirical_law(normal_sample(kDraws, 1000 + seed));
      ReservationSolver solver(law);
      solver.evaluate(0.2, 1.5);
      sigma.push_back(solver.index(cost));
      reported += solver.standard_error(sigma.back()) / kSamples;
    }
    const double found = statistics::mean(sigma).standard_error * std::sqrt(static_cast<double>(kSamples));
    EXPECT_NEAR(reported / found, 1.0, 0.15) << cost;
  }
}

}  // namespace
}  // namespace pandora
