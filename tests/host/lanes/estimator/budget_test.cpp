// Budgets: the spending of lanes that pace themselves, and the benchmark. scenario_lanes_test.cpp tests every engine.
#include <gtest/gtest.h>

#include <cmath>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/constrained.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

TEST(Budget, PacedLanesSpendWhatTheyMay) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication = test::small_replication(test::small_dimensions(3, 8, 3), regime, 0, 30000, 5);
    for (const RewardModel reward : {RewardModel::known, RewardModel::learned}) {
      LaneSpec lane = dow_lane(reward, 0);
      const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
      const auto spent = [&](const Pacing& pacing) {
        lane.pacing = pacing;
        const LaneTally tally = run_on_cpu<float>(replication, std::span(&lane, 1), options)[0];
        return std::pair(tally.queries() / tally.periods, tally.cost / tally.periods);
      };
      const auto [queries, cost] = spent({});
      ASSERT_GT(queries, 1.1);
      const double most = 1.0 + 0.5 * (queries - 1.0);
      EXPECT_NEAR(spent({Pacing::Of::queries, most}).first, most, 0.01 * most);
      const double least = cost / queries, dear = 0.5 * (least + cost);  // one box a period; halfway to no budget
      EXPECT_NEAR(spent({Pacing::Of::costs, dear, 0.02}).second, dear, 0.01 * dear);
    }
  }
}

TEST(Budget, OneThatDoesNotBindChangesNothing) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, 300, 11);
  const BlockOptions options{{parse_refit("tracking"), 1.0, 1.0}, 32};
  const std::vector<LaneSpec> plain = test::all_lanes(replication, {0, kCalibration}, {0.1});
  std::vector<LaneSpec> with_budget = plain;
  for (LaneSpec& lane : with_budget) lane.pacing = {Pacing::Of::queries, 3.0};
  EXPECT_EQ(run_on_cpu<float>(replication, with_budget, options), run_on_cpu<float>(replication, plain, options));
  const OracleOptions oracle = test::small_oracle();
  const ConstrainedOracle free =
      constrained_oracle(replication.instance, replication.tape, {Pacing::Of::queries, 3.0}, oracle);
  EXPECT_EQ(free.multiplier, 0.0);
  for (std::size_t at = replication.tape.at(replication.tape.online_row(0), 0); at < free.sigma.size(); ++at)
    ASSERT_NEAR(free.sigma[at], replication.sigma[at], 1e-12);
}

// The utility and the queries per period of Weitzman's rule with these indices.
std::pair<double, double> utility_of(const Replication& replication, const std::vector<double>& sigma) {
  const Tape& tape = replication.tape;
  double sum = 0.0, queries = 0.0;
  for (int t = 0; t < tape.online_rows; ++t) {
    const std::size_t at = tape.at(tape.online_row(t), 0);
    std::vector<std::size_t> order = {0, 1, 2};
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sigma[at + a] > sigma[at + b]; });
    double best = -1.0;
    for (std::size_t k = 0; k < 3 && best < sigma[at + order[k]]; ++k) {
      best = std::max(best, tape.mu[at + order[k]]);
      sum -= tape.cost[at + order[k]];
      queries += 1.0;
    }
    sum += best;
  }
  return {sum / tape.online_rows, queries / tape.online_rows};
}

// Among the multipliers of a fine grid that keep to the budget, none has a greater utility than the oracle's.
TEST(Budget, TheConstrainedOracleIsTheBestMultiplierThatFits) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Replication replication = test::small_replication(test::small_dimensions(3, 5, 2), regime, 0, 2000, 11);
    const OracleOptions oracle = test::small_oracle();
    const double most = 1.0 + 0.5 * (utility_of(replication, replication.sigma).second - 1.0);
    const ConstrainedOracle found =
        constrained_oracle(replication.instance, replication.tape, {Pacing::Of::queries, most}, oracle);
    const auto [worth, queries] = utility_of(replication, found.sigma);
    EXPECT_GT(found.multiplier, 0.0);
    EXPECT_LE(queries, most);
    EXPECT_GT(queries, most - 0.01);
    EXPECT_EQ(queries, spent_by_oracle(replication.tape, found.sigma, Pacing::Of::queries));
    const ShockSample sample = draw_shock_sample(replication.instance, oracle.samples);
    const IndexInputs inputs =
        index_inputs(replication.instance, sample, replication.tape.contexts, replication.tape.online_row(0));
    double best = -1.0;
    for (double multiplier = 0.0; multiplier < 0.6; multiplier += 0.002) {
      IndexInputs dearer = inputs;
      for (double& cost : dearer.cost) cost += multiplier;
      const auto [gained, used] = utility_of(replication, indices_of(sample, dearer, oracle));
      if (used <= most) best = std::max(best, gained);
    }
    EXPECT_GT(worth, best - 1e-3);
  }
}

}  // namespace
}  // namespace pandora
