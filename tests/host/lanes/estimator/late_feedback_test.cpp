// Lanes whose rewards come late, seldom or wrong: the reference engine against the naive lane and against a queue around
// a policy; every other engine against the reference engine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/feedback.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/followers.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/naive_lane.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

FeedbackRules rules_of(const char* delay, double share, double flip) {
  FeedbackRules rules;
  rules.delay = parse_delay(delay);
  rules.share = share;
  rules.flip = flip;
  return rules;
}

Replication replication_with(const FeedbackRules& rules, Regime regime, int periods, std::uint64_t seed = 11) {
  Replication out = test::small_replication(test::small_dimensions(3, 5, 2), regime, kCalibration, periods, seed);
  draw_feedback(out.instance.stream(Purpose::feedback), rules, out.tape);
  return out;
}

const FeedbackRules kRules[] = {rules_of("9", 1.0, 0.0), rules_of("geometric:12", 0.6, 0.1), rules_of("0", 0.3, 0.0)};

class LateFeedback : public testing::TestWithParam<std::tuple<std::size_t, const char*>> {
 protected:
  const FeedbackRules& rules() const { return kRules[std::get<0>(GetParam())]; }
  EstimationOptions estimation() const { return {parse_refit(std::get<1>(GetParam())), 1.0, 1.0}; }
};
INSTANTIATE_TEST_SUITE_P(Lanes, LateFeedback,
                         testing::Combine(testing::Values(0u, 1u, 2u),
                                          testing::Values("geometric:1.5", "tracking", "every:5")));

TEST_P(LateFeedback, TheReferenceIsTheNaiveLane) {
  const Replication replication = replication_with(rules(), Regime::B, 120);
  for (const LaneSpec& lane : test::lanes_that_learn(replication)) {
    const EstimationOptions options = estimation();
    const naive::Result wanted = naive::run_lane(replication, lane, options);
    LaneRecord record;
    const LaneTally tally = run_reference_lane(replication, lane, options, &record);
    EXPECT_NEAR(tally.utility, wanted.utility, 1e-9);
    EXPECT_NEAR(tally.realised_utility, wanted.realised_utility, 1e-9);  // what is realised, not what is told
    for (std::size_t t = 0; t < wanted.periods.size(); ++t)
      for (std::size_t a = 0; a < 3; ++a) {
        ASSERT_NEAR(record.scores[t * 3 + a], wanted.periods[t].score[a], 1e-6) << t;
        ASSERT_NEAR(record.widths[t * 3 + a], wanted.periods[t].width[a], 1e-6) << t;
      }
  }
}

TEST_P(LateFeedback, TheBlockedEngineFollowsTheReference) {
  const Replication replication = replication_with(rules(), Regime::B, 260);
  for (const LaneSpec& lane : test::lanes_that_learn(replication))
    test::expect_engines_follow(replication, lane, estimation());
}

TEST(LateFeedbackTeams, OfThreadsFollowOneThread) {
  test::expect_teams_follow(replication_with(kRules[1], Regime::B, 60), {parse_refit("tracking"), 1.0, 1.0});
}

TEST_P(LateFeedback, APolicyOfWeitzmansRuleEqualsTheReferenceInEveryDigit) {
  const Replication replication = replication_with(rules(), Regime::B, 200);
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned}) {
    const LaneSpec lane = dow_lane(reward, kCalibration);
    WeitzmanPolicy twin(replication, lane, estimation());
    EXPECT_EQ(run_custom_lane(replication, twin, kCalibration), run_reference_lane(replication, lane, estimation()));
  }
}

// Of a delay alone: a queue around DOW that knows of no feedback rules.
TEST(LateFeedbackQueue, ADelayIsAQueueAroundDow) {
  for (const int delay : {100, 500}) {
    const Replication late = replication_with(rules_of(fmt::format("{}", delay).c_str(), 1.0, 0.0), Regime::B, 900, 3);
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

// Rewards that come late matter: DOW that learns rewards differs, DOW that knows them does not.
TEST(LateFeedbackQueue, OnlyWhoLearnsRewardsWaits) {
  const Replication plain = replication_with({}, Regime::B, 400), late = replication_with(kRules[0], Regime::B, 400);
  const EstimationOptions options{parse_refit("tracking"), 1.0, 1.0};
  const auto tally = [&](const Replication& replication, RewardModel reward) {
    const LaneSpec lane = dow_lane(reward, 0);
    return run_on_cpu<float>(replication, std::span(&lane, 1), {options, 32})[0];
  };
  EXPECT_EQ(tally(plain, RewardModel::known), tally(late, RewardModel::known));
  EXPECT_NE(tally(plain, RewardModel::learned), tally(late, RewardModel::learned));
}

// A policy that is code and takes rewards at once is not run on what it would misread.
TEST(LateFeedbackQueue, CodeThatTakesRewardsAtOnceIsRefused) {
  struct First : CustomPolicy {
    void begin(const Request&) override { open = false; }
    int next() override { return open ? kStop : 0; }
    void opened(const Output&) override { open = true; }
    int deploy() override { return 0; }
    bool open = false;
  };
  const Replication late = replication_with(kRules[0], Regime::A, 50);
  First policy;
  std::string why;
  EXPECT_EQ(run_custom_lane(late, policy, 0, &why).failure, Failure::policy);
  EXPECT_NE(why.find("waits_for_rewards"), std::string::npos) << why;
}

}  // namespace
}  // namespace pandora
