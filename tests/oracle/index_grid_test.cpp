#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "host/lanes/model/draw_instance.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/naive_index.hpp"

namespace pandora {
namespace {

using naive::G;

const ProjectedLaw& normal_law() {
  static const ProjectedLaw law = [] {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> sample;
    for (int i = 0; i < 100000; ++i) sample.push_back(normal(engine));
    std::sort(sample.begin(), sample.end(), std::greater<>());
    return compressed_law(sample, 500);
  }();
  return law;
}

double solve(const ProjectedLaw& law, double shift, double scale, double cost) {
  ReservationSolver solver(law);
  solver.evaluate(shift, scale);
  return solver.index(cost);
}

const Range kShift{-1.0, 1.5}, kScale{0.4, 1.8}, kCost{0.01, 0.36};

TEST(IndexGrid, IsExactAtTheNodes) {
  const IndexGrid grid(normal_law(), {6, 3, 11}, kShift, kScale, kCost);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 11; ++k) {
        const double shift = -1.0 + 0.5 * i, scale = 0.4 + 0.7 * j,
                     root = 0.1 + 0.05 * k;  // nodes in sqrt(cbar)
        ASSERT_NEAR(grid(shift, scale, root * root), solve(normal_law(), shift, scale, root * root), 1e-12);
      }
}

// Between nodes the grid gives the mean of the eight corners, weighted by each coordinate. cbar enters by its square
// root.
TEST(IndexGrid, IsTrilinearInShiftScaleAndRootCost) {
  const IndexGrid grid(normal_law(), {6, 3, 11}, kShift, kScale, kCost);
  const double t[3] = {0.3, 0.6, 0.2};
  double expected = 0.0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) {
        const double root = 0.3 + 0.05 * k;
        expected += (i ? t[0] : 1 - t[0]) * (j ? t[1] : 1 - t[1]) * (k ? t[2] : 1 - t[2]) *
                    solve(normal_law(), -0.5 + 0.5 * i, 1.1 + 0.7 * j, root * root);
      }
  const double root = 0.3 + 0.05 * t[2];
  EXPECT_NEAR(grid(-0.5 + 0.5 * t[0], 1.1 + 0.7 * t[1], root * root), expected, 1e-12);
}

TEST(IndexGrid, ExtrapolatesTheOutermostCell) {
  const IndexGrid grid(normal_law(), {6, 3, 11}, kShift, kScale, kCost);
  const double last = grid(1.5, 1.1, 0.09), before = grid(1.0, 1.1, 0.09);
  EXPECT_NEAR(grid(1.6, 1.1, 0.09), last + 0.2 * (last - before), 1e-12);
  const double first = grid(0.0, 0.4, 0.09), second = grid(0.0, 1.1, 0.09);
  EXPECT_NEAR(grid(0.0, 0.33, 0.09), first - 0.1 * (second - first), 1e-12);
}

TEST(IndexGrid, ARangeOfOnePointIsAllowed) {
  const IndexGrid grid(normal_law(), {2, 2, 2}, {0.3, 0.3}, {1.2, 1.2}, {0.04, 0.04});
  EXPECT_NEAR(grid(0.3, 1.2, 0.04), solve(normal_law(), 0.3, 1.2, 0.04), 1e-8);
}

// Halving the cells divides the error of linear interpolation by four. The test requires at least three.
TEST(IndexGrid, ErrorFallsWithTheNumberOfNodes) {
  std::mt19937 engine(4);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::vector<std::array<double, 4>> points;
  for (int i = 0; i < 2000; ++i) {
    const double shift = -1.0 + 2.5 * unit(engine), scale = 0.4 + 1.4 * unit(engine), root = 0.1 + 0.5 * unit(engine);
    points.push_back({shift, scale, root * root, solve(normal_law(), shift, scale, root * root)});
  }
  double last = 0.0;
  for (int cells : {5, 10, 20, 40}) {
    const IndexGrid grid(normal_law(), {cells + 1, cells / 2 + 1, cells + 1}, kShift, kScale, kCost);
    double square = 0.0;
    for (const auto& [shift, scale, cost, sigma] : points) square += std::pow(grid(shift, scale, cost) - sigma, 2.0);
    const double rms = std::sqrt(square / 2000.0);
    if (cells > 5) {
      EXPECT_LT(rms, last / 3.0) << cells;
    }
    last = rms;
  }
}

// ---- the oracle that uses the grid

TEST(OracleIndices, RegimeAEqualsBisectionOnTheWholeSample) {
  const Instance instance = draw_instance({}, paper_environments()[1], Regime::A, 3, 1);
  const ShockSample sample = draw_shock_sample(instance, 100000);
  const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 4}});
  const std::vector<double> sigma = oracle_indices(instance, sample, contexts, {});
  std::vector<double> value, p(sample.projected.size(), 1.0 / 100000.0);
  for (double w : sample.projected) value.push_back(G(sample.projection_norm * w));  // l = 0, s = 1
  ASSERT_EQ(sigma.size(), 12u);
  for (int a = 0; a < 3; ++a) {
    const double expected = naive::reservation_index(value, p, (instance.c0[a] + instance.c1[a]) / 2.0);
    for (int row = 0; row < 4; ++row) EXPECT_NEAR(sigma[row * 3 + a], expected, 1e-11);
  }
}

// The paper's l, s~ and cbar, each computed from the parameters, with the expectation as a sum over the sample.
TEST(IndexInputs, EqualThePaper) {
  const Instance instance = draw_instance({}, paper_environments()[2], Regime::B, 1, 1);
  const ShockSample sample = draw_shock_sample(instance, 5000);
  const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 20}});
  const IndexInputs inputs = index_inputs(instance, sample, contexts);
  for (int row = 0; row < contexts.rows; ++row)
    for (int a = 0; a < 3; ++a) {
      const float* x = contexts.psi_row(row) + 1;
      double alpha_x = 0.0, beta_x = 0.0, expectation = 0.0;
      for (int j = 0; j < 100; ++j) {
        alpha_x += instance.alpha[a * 100 + j] * x[j];
        beta_x += instance.beta0[a * 100 + j] * x[j];
      }
      const double s = 0.5 + G(alpha_x);
      for (double term : sample.cost_terms[a]) expectation += G(s * term) / 5000.0;
      ASSERT_NEAR(inputs.scale[row * 3 + a], s * sample.projection_norm, 1e-5);
      ASSERT_NEAR(inputs.cost[row * 3 + a], instance.c0[a] * G(beta_x) + instance.c1[a] * expectation, 1e-6);
    }
}

// Compares the default grid and bins with direct solves on the whole sample, in all three environments. The bound is
// twice the largest documented error, 3e-4.
TEST(OracleIndices, RegimeBIsWithinTheDocumentedErrorOfDirectSolves) {
  for (const Environment& environment : paper_environments()) {
    const Instance instance = draw_instance({}, environment, Regime::B, 0, 1);
    const ShockSample sample = draw_shock_sample(instance, 200000);
    const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 5000}});
    const std::vector<double> sigma = oracle_indices(instance, sample, contexts, {});
    const IndexInputs inputs = index_inputs(instance, sample, contexts);
    const ProjectedLaw law = empirical_law(sample.projected);
    ReservationSolver solver(law);
    double worst = 0.0;
    for (std::size_t at = 0; at < sigma.size(); at += 31) {
      solver.evaluate(contexts.reward_shift[at / 3], inputs.scale[at]);
      worst = std::max(worst, std::abs(sigma[at] - solver.index(inputs.cost[at])));
    }
    EXPECT_LT(worst, 6e-4) << environment.name;
  }
}

TEST(GridErrors, ReportWhatIsThere) {
  const Instance instance = draw_instance({}, paper_environments()[0], Regime::B, 0, 1);
  const ShockSample sample = draw_shock_sample(instance, 20000);
  const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 500}});
  OracleOptions options;
  options.grid = {7, 4, 7};
  const GridErrors coarse = grid_errors(instance, sample, contexts, options, 200);
  EXPECT_EQ(coarse.solves, 200);
  EXPECT_GT(coarse.grid_max, 1e-3);  // the check notices a coarse grid
  EXPECT_GE(coarse.grid_max, coarse.grid_rms);
  EXPECT_GT(coarse.compression_max, 0.0);
  options.bins = 0;
  EXPECT_EQ(grid_errors(instance, sample, contexts, options, 20).compression_max, 0.0);
}

}  // namespace
}  // namespace pandora
