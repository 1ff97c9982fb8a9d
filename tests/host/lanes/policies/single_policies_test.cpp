// What single policies do: yardsticks that know the online periods, and Weitzman's rule without contexts.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "oracle/reservation_index.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

LaneSpec lane_of(const char* policy, const Replication& replication) {
  return find_policy(policy)->variants({})[0].lane(replication, 0);
}

TEST(Hindsight, IsTheBestNetAnswerOfEveryPeriod) {
  const Replication replication = test::small_replication(test::small_dimensions(4, 3, 2), Regime::B, 3, 80, 5);
  const Tape& tape = replication.tape;
  double best = 0.0;
  for (int t = 0; t < tape.online_rows; ++t) {
    double of_period = -1e9;
    for (int a = 0; a < 4; ++a) {
      const std::size_t at = tape.at(tape.online_row(t), a);
      of_period = std::max(of_period, tape.mu[at] - tape.cost[at]);
    }
    best += of_period;
  }
  const LaneSpec lane = lane_of("hindsight", replication);
  const LaneTally reference = run_reference_lane(replication, lane, {});
  EXPECT_NEAR(reference.utility, best, 1e-9);
  EXPECT_EQ(reference.queries(), 80.0);
  EXPECT_EQ(run_on_cpu<float>(replication, std::span(&lane, 1), {})[0], reference);
}

TEST(BestCascade, IsAtLeastTheBestOfAllWithRoundThresholds) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 3, 60, 8);
  double best = -1e9;
  for (int first = 0; first < 2; ++first)
    for (int k = -1; k <= 10; ++k) {  // -1 stands for the first box alone
      LaneSpec lane;
      lane.order = Order::listed;
      lane.stop = Stop::last_reaches_threshold;
      lane.length = k < 0 ? 1 : 2;
      lane.list[0] = first;
      lane.list[1] = 1 - first;
      lane.threshold[0] = k / 10.0;
      best = std::max(best, run_reference_lane(replication, lane, {}).utility);
    }
  EXPECT_GE(run_reference_lane(replication, lane_of("best_cascade", replication), {}).utility, best - 1e-9);
}

// The policy's index is the reservation index of a box's samples. The test finds it by sorting the samples.
TEST(EmpiricalWeitzman, ItsScoresAreTheIndicesOfItsSamples) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication = test::small_replication(test::small_dimensions(3, 5, 2), regime, 12, 150, 11);
    const Tape& tape = replication.tape;
    const LaneSpec lane = find_policy("empirical_weitzman")->variants({})[0].lane(replication, 12);
    const EstimationOptions options{parse_refit("every_period"), 1e-6, 1.0};
    LaneRecord reference, blocked;
    run_reference_lane(replication, lane, options, &reference);
    blocked.decisions = &reference.outcomes;
    run_on_cpu<double>(replication, std::span(&lane, 1), {options, 16}, nullptr, std::span(&blocked, 1));
    std::vector<double> mu[3];
    double cost[3] = {};
    const auto add = [&](int row, int a) {
      mu[a].push_back(tape.mu[tape.at(row, a)]);
      cost[a] += tape.cost[tape.at(row, a)];
    };
    for (int k = 0; k < 12; ++k) add(tape.calibration_row(k), k % 3);
    for (std::size_t t = 0; t < reference.outcomes.size(); ++t) {
      for (int a = 0; a < 3; ++a) {
        const double wanted = index_of_values(mu[a], cost[a] / static_cast<double>(mu[a].size()));
        ASSERT_NEAR(reference.scores[t * 3 + static_cast<std::size_t>(a)], wanted, 1e-4) << t << " " << a;
        ASSERT_NEAR(blocked.scores[t * 3 + static_cast<std::size_t>(a)], wanted, 1e-3) << t << " " << a;
      }
      const PeriodOutcome& outcome = reference.outcomes[t];
      for (int k = 0; k < outcome.queried; ++k) add(tape.online_row(static_cast<int>(t)), outcome.order[k]);
    }
  }
}

}  // namespace
}  // namespace pandora
