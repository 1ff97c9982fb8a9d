#include "host/lanes/model/draw_instance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "host/lanes/model/preparation.hpp"
#include "kernels/tape/tape.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/small_problem.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

using namespace statistics;

const Environment& environment(int i) {
  return paper_environments()[static_cast<std::size_t>(i)];
}

// With small sizes, many replications are cheap. Draws of parameters do not depend on the sizes of other parameters.
constexpr Dimensions kTiny{kMaxBoxes, 1, 1, 2, IndexFeatures::affine};

void expect_unit_rows(const std::vector<double>& matrix, std::size_t rows, std::size_t columns) {
  ASSERT_EQ(matrix.size(), rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    double square = 0.0;
    for (std::size_t j = 0; j < columns; ++j) {
      EXPECT_GT(matrix[i * columns + j], 0.0);
      square += matrix[i * columns + j] * matrix[i * columns + j];
    }
    EXPECT_NEAR(square, 1.0, 1e-14);
  }
}

TEST(DrawInstance, RowsHaveUnitLengthAndPositiveEntries) {
  const Instance instance = draw_instance({}, environment(0), Regime::B, 0, 1);
  expect_unit_rows(instance.D, 10, 100);
  expect_unit_rows(instance.Q, 10, 100);
  expect_unit_rows(instance.alpha, 3, 100);
  expect_unit_rows(instance.beta0, 3, 100);
  expect_unit_rows(instance.beta1, 3, 100);
}

TEST(DrawInstance, UnrelatedSlopesOfBoxesHaveNoCoordinateInCommon) {
  Environment environment = paper_environments()[0];
  environment.slopes = Slopes::unrelated;
  const Dimensions dim = {3, 10, 12, 4, IndexFeatures::affine};
  const Instance instance = draw_instance(dim, environment, Regime::B, 0, 7);
  const Instance paper = draw_instance(dim, paper_environments()[0], Regime::B, 0, 7);
  EXPECT_EQ(instance.Q, paper.Q);  // Q belongs to no box
  const auto check = [&](const std::vector<double>& rows, const std::vector<double>& wanted, int columns) {
    for (int a = 0; a < 3; ++a) {
      double norm = 0.0, kept = 0.0;
      for (int j = 0; j < columns; ++j) {
        const double value = rows[static_cast<std::size_t>(a) * columns + j];
        EXPECT_EQ(value > 0.0, j % 3 == a) << "box " << a << " coordinate " << j;
        norm += value * value;
        if (j % 3 == a) kept += std::pow(wanted[static_cast<std::size_t>(a) * columns + j], 2);
      }
      EXPECT_NEAR(norm, 1.0, 1e-12);
      // The remaining entries of the paper's row have unit length.
      EXPECT_NEAR(rows[static_cast<std::size_t>(a) * columns + a] * std::sqrt(kept),
                  wanted[static_cast<std::size_t>(a) * columns + a], 1e-12);
    }
  };
  check(instance.alpha, paper.alpha, 10);
  check(instance.beta0, paper.beta0, 10);
  check(instance.beta1, paper.beta1, 12);
}

TEST(DrawInstance, SlopesOfRandomSignAreUniformOnBothSides) {
  Environment environment = paper_environments()[0];
  environment.slopes = Slopes::random_sign;
  const Instance instance = draw_instance({}, environment, Regime::B, 0, 7);
  const Instance paper = draw_instance({}, paper_environments()[0], Regime::B, 0, 7);
  EXPECT_EQ(instance.D, paper.D);
  for (const auto member : {&Instance::Q, &Instance::alpha, &Instance::beta0, &Instance::beta1}) {
    const std::vector<double>& rows = instance.*member;
    const double n = static_cast<double>(rows.size());
    EXPECT_NEAR(std::ranges::count_if(rows, [](double x) { return x < 0.0; }) / n, 0.5, 4 * 0.5 / std::sqrt(n));
    EXPECT_EQ(rows.size(), (paper.*member).size());
  }
}

TEST(DrawInstance, RegimeAHasNoContextualCoefficients) {
  const Instance instance = draw_instance({}, environment(0), Regime::A, 0, 1);
  expect_unit_rows(instance.D, 10, 100);
  EXPECT_EQ(instance.Q, std::vector<double>(1000, 0.0));
  for (const auto& rows : {instance.alpha, instance.beta0, instance.beta1})
    EXPECT_EQ(rows, std::vector<double>(300, 0.0));
}

// Before a row is scaled, its entries are uniform on (0, 1). Each block of the row's own period gives four.
TEST(DrawInstance, EntriesAreProportionalToTheUniformsOfTheirStream) {
  const Instance instance = draw_instance({}, environment(1), Regime::B, 6, 3);
  const auto expect_rows = [&](const std::vector<double>& matrix, Purpose purpose, int rows) {
    for (int i = 0; i < rows; ++i) {
      const std::vector<double> u = naive::uniforms(instance.stream(purpose), static_cast<std::uint32_t>(i), 100);
      double square = 0.0;
      for (double value : u) square += value * value;
      for (int j = 0; j < 100; ++j) ASSERT_NEAR(matrix[i * 100 + j], u[j] / std::sqrt(square), 1e-15);
    }
  };
  expect_rows(instance.D, Purpose::reward_output_matrix, 10);
  expect_rows(instance.Q, Purpose::reward_context_matrix, 10);
  expect_rows(instance.alpha, Purpose::scale_coefficients, 3);
  expect_rows(instance.beta0, Purpose::context_cost_coefficients, 3);
  expect_rows(instance.beta1, Purpose::output_cost_coefficients, 3);
}

// Tests the law's shape without the stream. In a row of n uniform numbers, mean / root mean square is sqrt(3)/2. So the
// mean of a normalised entry times sqrt(n) is sqrt(3)/2, up to terms of order 1/n.
TEST(DrawInstance, EntriesHaveTheShapeOfAUniformLaw) {
  const Instance instance = draw_instance({}, environment(0), Regime::B, 1, 1);
  std::vector<double> entries(instance.D);
  entries.insert(entries.end(), instance.Q.begin(), instance.Q.end());
  for (double& value : entries) value *= 10.0 / std::sqrt(3.0);  // now nearly U[0, 1]
  EXPECT_LT(kolmogorov_smirnov(entries, [](double x) { return std::clamp(x, 0.0, 1.0); }), kKolmogorovAlarm);
}

TEST(DrawInstance, CostLevelsAreUniformUpToTheEnvironmentsLevel) {
  for (const Environment& each : paper_environments()) {
    std::vector<double> levels, products;
    for (std::uint32_t replication = 0; replication < 60; ++replication) {
      const Instance instance = draw_instance(kTiny, each, Regime::A, replication, 1);
      for (int a = 0; a < kMaxBoxes; ++a) {
        levels.push_back(instance.c0[a] / each.cost_level);
        levels.push_back(instance.c1[a] / each.cost_level);
        products.push_back((levels[levels.size() - 2] - 0.5) * (levels.back() - 0.5));
      }
    }
    EXPECT_LT(kolmogorov_smirnov(levels, [](double x) { return std::clamp(x, 0.0, 1.0); }), kKolmogorovAlarm);
    EXPECT_GT(*std::min_element(levels.begin(), levels.end()), 0.0);
    EXPECT_LT(*std::max_element(levels.begin(), levels.end()), 1.0);
    EXPECT_LT(std::abs(in_standard_errors(mean(products), 0.0)),
              kAlarm);  // c_0 and c_1 of a box are independent
  }
}

TEST(DrawInstance, CostLevelsOfThePaper) {
  EXPECT_EQ(environment(0).cost_level, 0.23);
  EXPECT_EQ(environment(1).cost_level, 0.20);
  EXPECT_EQ(environment(2).cost_level, 0.27);
}

TEST(UnitSphere, HasUnitLengthInEverySize) {
  for (int size : {1, 2, 3, 4, 5, 10, 64}) {
    double square = 0.0;
    for (double value : unit_sphere({1, Purpose::theta_direction, 0, 0, 0}, size)) square += value * value;
    EXPECT_NEAR(square, 1.0, 1e-14) << size;
  }
}

// A coordinate u of a uniform point on the sphere in R^3 is uniform on [-1, 1] (Archimedes).
TEST(UnitSphere, CoordinatesInThreeDimensionsAreUniform) {
  for (int coordinate = 0; coordinate < 3; ++coordinate) {
    std::vector<double> u;
    for (std::uint32_t replication = 0; replication < 20000; ++replication)
      u.push_back(unit_sphere({1, Purpose::theta_direction, 0, 0, replication}, 3)[coordinate]);
    EXPECT_LT(kolmogorov_smirnov(u, uniform_distribution), kKolmogorovAlarm) << coordinate;
  }
}

TEST(DrawInstance, ThetaPointsInTheDirectionOfItsStream) {
  const Instance instance = draw_instance({}, environment(1), Regime::B, 2, 1);
  const std::vector<double> direction = unit_sphere(instance.stream(Purpose::theta_direction), 10);
  double radius = 0.0;
  for (double value : instance.theta) radius += value * value;
  radius = std::sqrt(radius);
  for (int k = 0; k < 10; ++k) EXPECT_NEAR(instance.theta[k], radius * direction[k], 1e-12);
  EXPECT_NEAR(radius, calibrate_radius(instance, direction), 1e-12);
}

// P(-1 <= theta_*' phi <= 1) = 1/2 on periods that the calibration of the radius did not see. The boxes of a period
// share their context, so a period is one observation. The error of the calibrated median adds sqrt(1/4 / 131072).
TEST(DrawInstance, HalfOfTheLinearRewardsLieWithinOne) {
  constexpr int kPeriods = 20000;
  for (const Environment& each : paper_environments())
    for (Regime regime : {Regime::A, Regime::B}) {
      const Instance instance = draw_instance({}, each, regime, 8, 2);
      const Tape tape = draw_tape(instance, 0, kPeriods);
      std::vector<double> share;
      for (int t = 0; t < kPeriods; ++t) {
        double inside = 0.0;
        for (int a = 0; a < 3; ++a) {
          double z = 0.0;
          for (int k = 0; k < 10; ++k)
            z += instance.theta[k] * static_cast<double>(tape.phi_of(tape.online_row(t), a)[k]);
          inside += std::abs(z) <= 1.0 ? 1.0 / 3.0 : 0.0;
        }
        share.push_back(inside);
      }
      const Mean found = mean(share);
      const double standard_error = std::hypot(found.standard_error, 0.5 / std::sqrt(131072.0));
      EXPECT_LT(std::abs(found.value - 0.5), kAlarm * standard_error) << each.name << " " << regime_name(regime);
    }
}

TEST(DrawInstance, EveryCoordinateOfTheStreamChangesEveryDraw) {
  const Dimensions dim{2, 3, 3, 2, IndexFeatures::affine};
  const Instance base = draw_instance(dim, environment(1), Regime::B, 0, 1);
  Environment renamed = environment(1);  // the same law under another id
  renamed.id = 77;
  for (const Instance& other :
       {draw_instance(dim, environment(1), Regime::B, 1, 1), draw_instance(dim, environment(1), Regime::B, 0, 2),
        draw_instance(dim, renamed, Regime::B, 0, 1)}) {
    for (const auto member : {&Instance::theta, &Instance::D, &Instance::Q, &Instance::alpha, &Instance::beta0,
                              &Instance::beta1, &Instance::c0, &Instance::c1})
      EXPECT_NE(base.*member, other.*member);
  }
  const Instance regime_a = draw_instance(dim, environment(1), Regime::A, 0, 1);  // regimes do not share draws
  EXPECT_NE(base.D, regime_a.D);
  EXPECT_NE(base.c0, regime_a.c0);
}

TEST(DrawInstance, TheSameCoordinatesGiveTheSameInstance) {
  const Dimensions dim{2, 3, 3, 2, IndexFeatures::affine};
  EXPECT_EQ(draw_instance(dim, environment(2), Regime::B, 4, 9), draw_instance(dim, environment(2), Regime::B, 4, 9));
}

TEST(DrawInstance, ParametersDoNotShareDraws) {
  const Dimensions dim{2, 3, 3, 2, IndexFeatures::affine};
  const Instance instance = draw_instance(dim, environment(0), Regime::B, 0, 1);
  EXPECT_NE(instance.D, instance.Q);
  EXPECT_NE(instance.alpha, instance.beta0);
  EXPECT_NE(instance.alpha, instance.beta1);
  EXPECT_NE(instance.beta0, instance.beta1);
  EXPECT_NE(instance.c0, instance.c1);
}

// Table 3's statistics are those of direct counting.
Instance instance_of(Regime regime, std::uint32_t replication) {
  Environment environment = paper_environments()[0];
  return draw_instance(test::small_dimensions(3, 2, 2), environment, regime, replication, 61);
}

// In regime A neither indices nor their order depend on the context.
TEST(OrderFrequencies, RegimeAHasOnePermutation) {
  for (std::uint32_t r = 0; r < 3; ++r) {
    const Instance instance = instance_of(Regime::A, r);
    const ShockSample sample = draw_shock_sample(instance, 2000);
    const OrderFrequencies found = order_frequencies(instance, sample, 300, test::small_oracle());
    EXPECT_EQ(found, (OrderFrequencies{1.0, 1.0, 1.0}));
  }
}

TEST(OrderFrequencies, RegimeBCountsTheOrdersOfTheIndices) {
  double most = 0.0;
  for (std::uint32_t r = 0; r < 8; ++r) {
    const Instance instance = instance_of(Regime::B, r);
    const ShockSample sample = draw_shock_sample(instance, 2000);
    const Contexts contexts = draw_contexts(instance, {{Purpose::order_context, 0, 400}});
    const std::vector<double> sigma = oracle_indices(instance, sample, contexts, test::small_oracle());
    std::map<std::string, int> count;
    for (int row = 0; row < 400; ++row) {
      std::string order = "012";
      std::stable_sort(order.begin(), order.end(),
                       [&](char a, char b) { return sigma[3 * row + a - '0'] > sigma[3 * row + b - '0']; });
      ++count[order];
    }
    const auto [least, greatest] = std::ranges::minmax_element(count, {}, &std::pair<const std::string, int>::second);
    const OrderFrequencies found = order_frequencies(instance, sample, 400, test::small_oracle());
    EXPECT_EQ(found.permutations, static_cast<double>(count.size()));
    EXPECT_DOUBLE_EQ(found.max_mass, greatest->second / 400.0);
    EXPECT_DOUBLE_EQ(found.min_mass, least->second / 400.0);
    most = std::max(most, found.permutations);
  }
  EXPECT_GE(most, 2.0);  // so there was something to count
}

}  // namespace
}  // namespace pandora
