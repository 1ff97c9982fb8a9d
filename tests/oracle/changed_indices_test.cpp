// Compares indices of changed problems, and of any law, with sums that are written out.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "oracle/oracle.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(IndexOfValues, SolvesTheEquationByHand) {
  const std::vector<double> coin = {0.2, 0.8};  // (0.8 - sigma) / 2 = 0.1; then 0.5 - sigma = 0.9
  EXPECT_DOUBLE_EQ(index_of_values(coin, 0.1), 0.6);
  EXPECT_DOUBLE_EQ(index_of_values(coin, 0.9), -0.4);
  EXPECT_DOUBLE_EQ(index_of_values(coin, 0.0), 0.8);
  const std::vector<double> weights = {3.0, 1.0};  // (0.8 - sigma) / 4 = 0.1
  EXPECT_DOUBLE_EQ(index_of_values(coin, 0.1, weights), 0.4);
  EXPECT_DOUBLE_EQ(index_of_values(std::vector<double>{5.0, 0.2, 0.8}, 0.1, std::vector<double>{0.0, 1.0, 1.0}), 0.6);
  EXPECT_TRUE(std::isnan(index_of_values(coin, -0.1)));
  EXPECT_TRUE(std::isnan(index_of_values(coin, 0.1, std::vector<double>{0.0, 0.0})));
}

TEST(IndexOfValues, AgreesWithTheNaiveIndexOfALaw) {
  std::vector<double> values, p;
  for (int k = 0; k < 200; ++k) values.push_back(0.5 + 0.5 * std::sin(17.0 * k * k));
  p.assign(values.size(), 1.0 / 200.0);
  for (const double cost : {1e-4, 0.01, 0.2, 0.7, 1.2})
    EXPECT_NEAR(index_of_values(values, cost), naive::reservation_index(values, p, cost), 1e-11) << cost;
}

struct Changed {
  explicit Changed(Regime regime)
      : instance(draw_instance({}, paper_environments()[0], regime, 0, 5)),
        sample(draw_shock_sample(instance, 6000)),
        contexts(draw_contexts(instance, {{Purpose::online_context, 0, 200}})),
        inputs(index_inputs(instance, sample, contexts)) {}

  // The mean of (G(l + s w) - sigma)^+ over the sample, for one row and box.
  double excess(std::size_t at, double sigma) const {
    double sum = 0.0;
    for (const double w : sample.projected)
      sum += std::fmax(reward_link(RewardLink::logistic, inputs.shift[at] + inputs.scale[at] * w) - sigma, 0.0);
    return sum / static_cast<double>(sample.projected.size());
  }

  Instance instance;
  ShockSample sample;
  Contexts contexts;
  IndexInputs inputs;
};

TEST(IndicesOf, TheModelAreTheOraclesOwn) {
  const Changed a(Regime::A), b(Regime::B);
  const std::vector<double> constant = indices_of(a.sample, a.inputs, {}),
                            own = oracle_indices(a.instance, a.sample, a.contexts, {});
  for (std::size_t at = 0; at < own.size(); ++at)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(constant[at]), std::bit_cast<std::uint64_t>(own[at]));
  const std::vector<double> found = indices_of(b.sample, b.inputs, {}),
                            grid = oracle_indices(b.instance, b.sample, b.contexts, {});
  for (std::size_t at = 0; at < grid.size(); ++at) EXPECT_NEAR(found[at], grid[at], 6e-4);  // the grid's error
}

// Costs are halved in the second half of the periods. One box is far dearer than the others, which would spoil any
// grid.
TEST(IndicesOf, AChangedProblemBalanceItsCosts) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Changed changed(regime);
    for (std::size_t at = 0; at < changed.inputs.cost.size(); ++at) {
      if (at >= changed.inputs.cost.size() / 2) changed.inputs.cost[at] /= 2.0;
      if (at % 3 == 1) changed.inputs.cost[at] = 40.0;
    }
    const std::vector<double> sigma = indices_of(changed.sample, changed.inputs, {});
    for (std::size_t at = 0; at < sigma.size(); at += 7)
      EXPECT_NEAR(changed.excess(at, sigma[at]), changed.inputs.cost[at], 1e-5) << at;
  }
}

TEST(IndicesOf, SayWhatHasNone) {
  Changed problem(Regime::B);
  problem.inputs.cost[0] = 0.0;
  problem.inputs.cost[1] = -0.1;
  problem.inputs.cost[2] = std::nan("");
  const std::vector<double> sigma = indices_of(problem.sample, problem.inputs, {});
  EXPECT_EQ(sigma[0], 1.0);
  EXPECT_TRUE(std::isnan(sigma[1]));
  EXPECT_TRUE(std::isnan(sigma[2]));
  EXPECT_TRUE(std::isfinite(sigma[3]));
}

TEST(IndexInputs, HaveNothingOfRowsThatAreNotAskedFor) {
  const Changed problem(Regime::B);
  const IndexInputs later = index_inputs(problem.instance, problem.sample, problem.contexts, 150);
  for (std::size_t at = 0; at < 450; ++at) EXPECT_TRUE(std::isnan(later.shift[at]) && std::isnan(later.cost[at]));
  EXPECT_EQ(later.shift[450], problem.inputs.shift[450]);
  EXPECT_TRUE(std::isnan(indices_of(problem.sample, later, {})[449]));
}

}  // namespace
}  // namespace pandora
