// Compares lanes with late rewards with a policy behind a queue. scenario_lanes_test.cpp tests every engine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/feedback.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

Replication replication_with(const std::string& delay, int periods) {
  Replication out = test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, periods, 3);
  FeedbackRules rules;
  rules.delay = parse_delay(delay);
  draw_feedback(out.instance.stream(Purpose::feedback), rules, out.tape);
  return out;
}

// With a delay alone, the lane is DOW behind a queue, and this DOW knows nothing of feedback rules.
TEST(LateFeedbackQueue, ADelayIsAQueueAroundDow) {
  for (const int delay : {100, 500}) {
    const Replication late = replication_with(fmt::format("{}", delay), 900);
    const LaneSpec lane = dow_lane(RewardModel::learned, kCalibration);
    const EstimationOptions options{parse_refit("geometric:1.5"), 1.0, 1.0};
    LaneRecord record;
    const LaneTally tally = run_reference_lane(late, lane, options, &record);
    const Tape& tape = late.tape;
    WeitzmanEstimator estimator(late, lane, options);
    for (int k = 0; k < kCalibration; ++k) {
      const int row = tape.calibration_row(k), a = k % 3;
      estimator.calibrate(request_of(tape, k + 1, row), output_of(tape, row, a), tape.reward[tape.at(row, a)]);
    }
    std::deque<std::pair<Output, double>> queue;
    double utility = 0.0;
    for (int t = 0; t < tape.online_rows; ++t) {
      const int row = tape.online_row(t);
      estimator.begin(request_of(tape, t + 1, row));
      double score[3];
      for (int a = 0; a < 3; ++a) score[a] = estimator.index(a);
      std::vector<Output> opened;
      const PeriodOutcome outcome = walk_period(lane, 3, score, nullptr, [&](int a) {
        opened.push_back(output_of(tape, row, a));
        return estimator.reward(opened.back());
      });
      utility += tape.mu[tape.at(row, outcome.deployed)] - spent_on(outcome, &tape.cost[tape.at(row, 0)]);
      queue.emplace_back(output_of(tape, row, outcome.deployed), tape.reward[tape.at(row, outcome.deployed)]);
      estimator.learn_outputs(opened);
      if (static_cast<int>(queue.size()) > delay) {
        estimator.learn_reward(queue.front().first, queue.front().second);
        queue.pop_front();
      }
      estimator.end_period();
    }
    EXPECT_EQ(utility, tally.utility) << delay;
  }
}

// Late rewards change DOW if it learns rewards, and do not change it if it knows them.
TEST(LateFeedbackQueue, OnlyWhoLearnsRewardsWaits) {
  const Replication plain = replication_with("0", 400), late = replication_with("9", 400);
  const EstimationOptions options{parse_refit("tracking"), 1.0, 1.0};
  const auto tally = [&](const Replication& replication, RewardModel reward) {
    const LaneSpec lane = dow_lane(reward, 0);
    return run_on_cpu<float>(replication, std::span(&lane, 1), {options, 32})[0];
  };
  EXPECT_EQ(tally(plain, RewardModel::known), tally(late, RewardModel::known));
  EXPECT_NE(tally(plain, RewardModel::learned), tally(late, RewardModel::learned));
}

// A policy by code that needs its rewards at once is not run with late ones.
TEST(LateFeedbackQueue, CodeThatTakesRewardsAtOnceIsRefused) {
  struct First : CustomPolicy {
    void begin(const Request&) override { open = false; }
    int next() override { return open ? kStop : 0; }
    void opened(const Output&) override { open = true; }
    int deploy() override { return 0; }
    bool open = false;
  };
  const Replication late = replication_with("9", 50);
  First policy;
  std::string why;
  EXPECT_EQ(run_custom_lane(late, policy, 0, &why).failure, Failure::policy);
  EXPECT_NE(why.find("waits_for_rewards"), std::string::npos) << why;
}

}  // namespace
}  // namespace pandora
