// Compares the fast engine with the reference. It does the same algebra in another order.
#include "host/lanes/engine/run_on_cpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/engine/cpu_backend.hpp"
#include "tests/reference/followers.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

bool same_decisions(const PeriodOutcome& a, const PeriodOutcome& b) {
  return a.queried == b.queried && a.deployed == b.deployed && std::equal(a.order, a.order + a.queried, b.order);
}

// Compares a lane's decisions and numbers in double, over a whole run with many solves in the middle of blocks.
class EveryBlockLength : public testing::TestWithParam<const char*> {};
TEST_P(EveryBlockLength, DoubleFollowsTheReference) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication =
        test::small_replication(test::small_dimensions(3, 5, 2), regime, kCalibration, 300, 11);
    for (const LaneSpec& lane :
         test::all_lanes(replication, {0, 2, kCalibration}, {0.1, 1.0}))  // with 2, a box has no sample
      test::expect_engines_follow(replication, lane, {parse_refit(GetParam()), 1.0, 1.0}, {1, 7, 16, 32, 64}, {});
  }
}
INSTANTIATE_TEST_SUITE_P(Schedules, EveryBlockLength, testing::Values("geometric:1.5", "tracking", "every:5"));

// The same like a device with one thread. arm64 leaves out EveryBlockLength and runs this; sanitisers run one schedule.
class ScalarBlocks : public testing::TestWithParam<const char*> {};
TEST_P(ScalarBlocks, DoubleFollowsTheReference) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication =
        test::small_replication(test::small_dimensions(3, 5, 2), regime, kCalibration, 200, 11);
    for (const LaneSpec& lane : test::all_lanes(replication, {0, 2, kCalibration}))
      test::expect_engines_follow(replication, lane, {parse_refit(GetParam()), 1.0, 1.0}, {}, {1, 7, 32});
  }
}
INSTANTIATE_TEST_SUITE_P(Schedules, ScalarBlocks, testing::Values("geometric:1.5", "tracking", "every:5"));

// The reward is known and nothing is solved after the calibration, so only rounding differs, and bounds are tight.
TEST(RunOnCpu, WithoutSolvesADoubleLaneDiffersByRoundingOnly) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, kCalibration, 400, 3);
  const EstimationOptions estimation{parse_refit("geometric:1.5"), 1.0, 1.0};
  const LaneSpec linucb = test::linucb_lane(kCalibration);
  LaneRecord expected;
  const LaneTally reference = run_reference_lane(replication, linucb, estimation, &expected);
  for (const int B : {1, 7, 16, 32, 64}) {
    LaneRecord actual;
    EXPECT_EQ(test::run_vectors<double>(replication, linucb, {estimation, B}, &actual), reference)
        << "decisions differ at B = " << B;
    EXPECT_LE(test::largest_distance(actual.scores, expected.scores), 1e-11);
  }
}

TEST(RunOnCpu, ALaneAloneAndAmongAllGivesTheSameBytes) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 9, 3), Regime::B, kCalibration, 500, 7);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 32};
    const std::vector<LaneSpec> lanes = test::all_lanes(replication, {0, 5, kCalibration}, {0.1, 1.0});
    const std::vector<LaneTally> together = run_on_cpu<float>(replication, lanes, options);
    for (std::size_t k = 0; k < lanes.size(); ++k)
      EXPECT_EQ(test::run_vectors<float>(replication, lanes[k], options), together[k]) << k << " " << schedule;
  }
}

// The last block may be shorter than B, and the run shorter than a block.
TEST(RunOnCpu, AnyNumberOfPeriods) {
  const EstimationOptions estimation{parse_refit("geometric:1.5"), 1.0, 1.0};
  for (const int periods : {1, 5, 31, 33, 70}) {
    const Replication replication =
        test::small_replication(test::small_dimensions(2, 4, 2), Regime::A, kCalibration, periods, 5);
    for (const LaneSpec& lane : test::all_lanes(replication, {0, kCalibration}, {0.1, 1.0})) {
      LaneRecord expected, actual;
      run_reference_lane(replication, lane, estimation, &expected);
      EXPECT_EQ(test::run_vectors<double>(replication, lane, {estimation, 32}, &actual).periods, periods);
      for (int t = 0; t < periods; ++t)
        ASSERT_TRUE(same_decisions(actual.outcomes[t], expected.outcomes[t])) << "period " << t << " of " << periods;
    }
  }
}

// With small and large ridges, the solvers must end and agree with the reference, also at the limit of single
// precision.
TEST(RunOnCpu, AnyRidge) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 40, 2), Regime::B, 9, 150, 29);
  for (const double ridge : {1e-3, 0.01, 0.1, 3.0, 100.0})
    for (const char* schedule : {"geometric:1.5", "tracking"}) {
      const EstimationOptions estimation{parse_refit(schedule), ridge, 1.0};
      const LaneSpec plugin = dow_lane(RewardModel::known, 9, 0.0);
      LaneRecord expected, actual;
      run_reference_lane(replication, plugin, estimation, &expected);
      actual.decisions = &expected.outcomes;
      test::run_vectors<float>(replication, plugin, {estimation, 32}, &actual);
      // In a direction without samples, the index is only known to about 1 / sqrt(ridge).
      EXPECT_LT(test::largest_distance(actual.scores, expected.scores), 2e-3 / std::sqrt(std::min(ridge, 1.0)))
          << schedule << " ridge " << ridge;
    }
}

// There are eight boxes, m > 128, and a d that is no multiple of any size.
TEST(RunOnCpu, LargerShapes) {
  const Replication replication = test::small_replication(test::small_dimensions(8, 140, 7), Regime::B, 24, 120, 19);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
      test::expect_engines_follow(replication, dow_lane(reward, 24), {parse_refit(schedule), 1.0, 1.0}, {32});
}

TEST(RunOnCpu, OneFeatureOneBox) {
  const Replication replication = test::small_replication(test::small_dimensions(1, 1, 1), Regime::A, 4, 33, 2);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    for (const LaneSpec& lane : test::all_lanes(replication, {0, 4}))
      test::expect_engines_follow(replication, lane, {parse_refit(schedule), 1.0, 1.0}, {32});
}

// Single precision replays the decisions of a lane in double at the paper's m. Widths and indices stay close, also like
// a device with one thread; a GPU must keep the same bounds.
TEST(RunOnCpu, SinglePrecisionReplaysADoubleLane) {
  const Replication replication = test::small_replication({}, Regime::B, 50, 1500, 23);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const EstimationOptions estimation{parse_refit(schedule), 1.0, 1.0};
    const LaneSpec dow = dow_lane(RewardModel::learned, 50);
    LaneRecord expected;
    run_reference_lane(replication, dow, estimation, &expected);
    for (const auto run : {test::run_vectors<float>, test::run_scalars<float>}) {
      LaneRecord actual;
      actual.decisions = &expected.outcomes;
      EngineCounters counters;
      run(replication, dow, {estimation, 32}, &actual, &counters);
      for (std::size_t at = 0; at < expected.widths.size(); ++at)
        ASSERT_NEAR(actual.widths[at], expected.widths[at], 2e-5 * expected.widths[at]) << schedule;
      EXPECT_LT(test::largest_distance(actual.scores, expected.scores), 2e-3) << schedule;
      EXPECT_EQ(counters.repairs, 0u);
    }
  }
}

// Paired over 24 replications, single precision in blocks and the reference have the same regret. The two-sided bound
// is two standard errors. If there is no difference, 5 of 100 seeds would fail, but the seed is fixed.
TEST(RunOnCpuSlow, RegretDiffersByLessThanTwoStandardErrorsFromTheReference) {
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const EstimationOptions estimation{parse_refit(schedule), 1.0, 1.0};
    constexpr int R = 24;
    double sum = 0.0, squares = 0.0;
    int identical = 0, periods = 0;
    for (int r = 0; r < R; ++r) {
      const Replication replication = test::small_replication(Dimensions{}, Regime::A, 0, 2000, 1, r);
      const LaneSpec dow = dow_lane(RewardModel::known, 0);
      LaneRecord a, b;
      const double reference = run_reference_lane(replication, dow, estimation, &a).utility;
      const double blocked = test::run_vectors<float>(replication, dow, {estimation, 32}, &b).utility;
      const double difference = (blocked - reference) / 2000.0;
      sum += difference;
      squares += difference * difference;
      for (std::size_t t = 0; t < a.outcomes.size(); ++t, ++periods)
        identical += same_decisions(a.outcomes[t], b.outcomes[t]) ? 1 : 0;
    }
    const double mean = sum / R, se = std::sqrt((squares / R - mean * mean) / (R - 1));
    EXPECT_LE(std::abs(mean), 2.0 * se + 1e-9) << schedule;
    RecordProperty(std::string("identical_share_") + schedule,
                   std::to_string(static_cast<double>(identical) / periods));
    EXPECT_GT(static_cast<double>(identical) / periods, 0.9) << schedule;
  }
}

// A sample with an enormous cost moves the minimum far. Then the approximate Hessian for many samples fails (here in
// period 7,909), and the solve goes on with new Hessians.
TEST(RunOnCpu, CostsWithAHeavyTailAreSolvedFor) {
  Environment environment = paper_environments()[1];
  environment.id = 33;
  environment.cost_tail = 1.5;
  Replication replication;
  replication.instance = draw_instance({}, environment, Regime::B, 5, 1);
  replication.tape = draw_tape(replication.instance, 0, 8200);
  replication.sigma.assign(replication.tape.mu.size(), 0.5);  // not used here
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
    EXPECT_EQ(test::run_vectors<float>(replication, dow_lane(reward, 0), options).failure, Failure::none);
}

// The estimates of lanes at their end.
TEST(LearnedEstimates, AreThoseOfTheReferenceEngine) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 10, 90, 3);
  for (const LaneSpec& spec : test::all_lanes(replication, {0, 10})) {
    LaneRecord expected, actual;
    actual.keep = LaneRecord::Keep::estimates;
    const EstimationOptions estimation;
    const LaneTally reference = run_reference_lane(replication, spec, estimation, &expected);
    LaneRecord with_periods;
    with_periods.decisions = &expected.outcomes;
    const BlockOptions options{estimation, 32};
    EXPECT_EQ(test::run_vectors<double>(replication, spec, options, &with_periods).periods, reference.periods);
    EXPECT_EQ(test::run_vectors<double>(replication, spec, options, &actual),
              test::run_vectors<double>(replication, spec, options));  // keeping estimates changes nothing
    EXPECT_TRUE(actual.outcomes.empty());
    EXPECT_EQ(expected.rho.size(), spec.learns_scores() ? 3u * 7u : 0u);
    EXPECT_EQ(expected.theta.size(), spec.learns_reward() ? 2u : 0u);
    EXPECT_LE(test::largest_distance(with_periods.rho, expected.rho), 1e-5);
    EXPECT_LE(test::largest_distance(with_periods.theta, expected.theta), 2e-5);
  }
}

// The record has the lane's estimate of each output that it saw, and nothing for the other outputs.
TEST(RecordedRewards, AreThoseOfTheOpenedBoxes) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 10, 60, 4);
  for (const LaneSpec& spec : test::all_lanes(replication, {0, 10})) {
    LaneRecord reference, fast;
    run_reference_lane(replication, spec, {}, &reference);
    test::run_vectors<double>(replication, spec, {{}, 32}, &fast);
    for (const LaneRecord& record : {reference, fast})
      for (std::size_t t = 0; t < record.outcomes.size(); ++t) {
        const PeriodOutcome& outcome = record.outcomes[t];
        for (int a = 0; a < 3; ++a) {
          const bool open =
              std::find(outcome.order, outcome.order + outcome.queried, a) != outcome.order + outcome.queried;
          const double seen = record.rewards[t * 3 + static_cast<std::size_t>(a)];
          const std::size_t at = replication.tape.at(replication.tape.online_row(static_cast<int>(t)), a);
          EXPECT_EQ(seen != 0.0, open);
          if (open && !spec.learns_reward()) {
            EXPECT_EQ(seen, replication.tape.mu[at]);
          }
        }
      }
  }
}

// The memory in a plan is that of the engine's layout, for every policy.
TEST(MemoryOnCpu, IsThatOfTheLayout) {
  const Dimensions dimensions = test::small_dimensions(3, 40, 5);
  const Replication replication = test::small_replication(dimensions, Regime::B, test::kCalibration, 50, 7);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 16};
    std::vector<LaneSpec> lanes = test::all_lanes(replication, {0, test::kCalibration});
    for (std::size_t first = 0; first < lanes.size(); ++first) {
      const std::vector<LaneSpec> some(lanes.begin() + static_cast<std::ptrdiff_t>(first), lanes.end());
      const UnitOfLanes unit{&replication, some};
      Arena measure;
      engine::Layout<float>(measure, std::span(&unit, 1), options, engine::CpuBackend().traits(),
                            LaneRecord::Keep::estimates);
      EXPECT_EQ(memory_on_cpu<float>({dimensions, test::kCalibration, 50}, some, options), measure.used());
    }
  }
}

}  // namespace
}  // namespace pandora
