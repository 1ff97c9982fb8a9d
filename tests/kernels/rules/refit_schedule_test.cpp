// Schedules of solves: their names, their arithmetic, and their visible effect on a lane.
#include "kernels/rules/refit_schedule.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(RefitScheduleParse, ReadsEveryForm) {
  EXPECT_EQ(parse_refit("tracking").kind, RefitSchedule::Kind::tracking);
  const RefitSchedule every_period = parse_refit("every_period"), every = parse_refit("every:25");
  EXPECT_EQ(every_period.kind, RefitSchedule::Kind::every);
  EXPECT_EQ(every_period.every, 1);
  EXPECT_EQ(every.kind, RefitSchedule::Kind::every);
  EXPECT_EQ(every.every, 25);
  const RefitSchedule geometric = parse_refit("geometric:1.3");
  EXPECT_EQ(geometric.kind, RefitSchedule::Kind::geometric);
  EXPECT_EQ(geometric.growth, 1.3);
}

TEST(RefitScheduleParse, TextIsReadBack) {
  for (const char* text : {"tracking", "every_period", "every:25", "geometric:1.5", "geometric:1.05", "geometric:2"})
    EXPECT_EQ(refit_text(parse_refit(text)), text);
  EXPECT_EQ(refit_text(parse_refit("every:1")), "every_period");
}

TEST(RefitScheduleParse, RefusesEverythingElse) {
  for (const char* text : {"",
                           "never",
                           "every",
                           "every:",
                           "every:0",
                           "every:-3",
                           "every:1.5",
                           "every:x",
                           "every:3 ",
                           "every_period:2",
                           "every:99999999999",
                           "geometric",
                           "geometric:",
                           "geometric:1",
                           "geometric:0.5",
                           "geometric:-2",
                           "geometric:nan",
                           "geometric:inf",
                           "geometric:1.5x",
                           "tracking:",
                           "tracking:1.1",
                           "Tracking",
                           " tracking"}) {
    try {
      parse_refit(text);
      ADD_FAILURE() << "accepted: '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      const std::string message = error.what();
      EXPECT_NE(message.find(std::string("\"") + text + "\""), std::string::npos) << message;
      for (const char* remedy : {"every_period", "every:k", "geometric:g", "tracking"})
        EXPECT_NE(message.find(remedy), std::string::npos) << message;
    }
  }
}

TEST(RewardScheduleParse, ReadsBothForms) {
  const RewardSchedule tracking = parse_reward_refit("tracking");
  EXPECT_TRUE(tracking.steps);
  EXPECT_EQ(tracking.growth, 1.05);
  for (const auto& [text, growth] : {std::pair("geometric:1", 1.0), {"geometric:1.5", 1.5}}) {
    EXPECT_FALSE(parse_reward_refit(text).steps);
    EXPECT_EQ(parse_reward_refit(text).growth, growth);
  }
}

TEST(RewardScheduleParse, RefusesEverythingElse) {
  for (const char* text : {"", "every_period", "every:2", "geometric", "geometric:", "geometric:0.9", "geometric:nan",
                           "geometric:2e6", "geometric:1.5x", "tracking:2"}) {
    try {
      parse_reward_refit(text);
      ADD_FAILURE() << "accepted: '" << text << "'";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("use tracking, or geometric:g with g >= 1"), std::string::npos);
    }
  }
}

TEST(RefitSchedule, GeometricIsDueAtItsGrowth) {
  const RefitSchedule half = parse_refit("geometric:1.5");
  EXPECT_FALSE(half.due(14, 10));
  EXPECT_TRUE(half.due(15, 10));
  EXPECT_TRUE(half.due(2, 1));  // after x_0 alone, a second sample is due, as 2 >= 1.5
  EXPECT_FALSE(parse_refit("geometric:3").due(2, 1));
  EXPECT_TRUE(half.due(1, 0));  // a box that was never sampled before
}

// In double 1.1 x 50 exceeds 55, but with 55 samples the solve must be due.
TEST(RefitSchedule, GrowthHasSlackForRounding) {
  volatile double growth = 1.1;
  ASSERT_GT(growth * 50, 55.0);
  EXPECT_TRUE(parse_refit("geometric:1.1").due(55, 50));
  EXPECT_FALSE(parse_refit("geometric:1.1").due(54, 50));
  for (int n_last = 10; n_last <= 10000; n_last += 10) {
    EXPECT_TRUE(parse_refit("geometric:1.1").due(n_last + n_last / 10, n_last)) << n_last;
    EXPECT_FALSE(parse_refit("geometric:1.1").due(n_last + n_last / 10 - 1, n_last)) << n_last;
  }
}

TEST(RefitSchedule, TrackingIsExactUpTo200AndThenEveryTenth) {
  const RefitSchedule tracking = parse_refit("tracking");
  for (int n = 1; n <= 200; ++n) EXPECT_TRUE(tracking.due(n, n - 1)) << n;
  EXPECT_FALSE(tracking.due(201, 200));
  EXPECT_FALSE(tracking.due(219, 200));
  EXPECT_TRUE(tracking.due(220, 200));
  EXPECT_FALSE(tracking.due(1099, 1000));
  EXPECT_TRUE(tracking.due(1100, 1000));
}

TEST(RefitSchedule, EveryKIsDueInEveryKthPeriodOnly) {
  const RefitSchedule every = parse_refit("every:7");
  for (int period = 1; period <= 30; ++period) EXPECT_EQ(every.due_in_period(period), period % 7 == 0) << period;
  EXPECT_FALSE(every.due(1000, 1));
  for (const char* text : {"geometric:1.5", "tracking"})
    for (int period = 1; period <= 30; ++period) EXPECT_FALSE(parse_refit(text).due_in_period(period));
}

// The scores and widths of a lane in each period.
struct Trace {
  std::vector<std::vector<double>> score, width;
  std::vector<std::vector<int>> queried;
};

Trace trace(const Replication& replication, const LaneSpec& lane, const char* refit) {
  Trace out;
  test::run_observed(replication, lane, {parse_refit(refit), 1.0, 1.0}, [&](const test::PeriodView& view) {
    const int A = replication.tape.boxes();
    out.score.emplace_back(view.score, view.score + A);
    out.width.emplace_back(view.width, view.width + A);
    out.queried.emplace_back(view.outcome->order, view.outcome->order + view.outcome->queried);
  });
  return out;
}

LaneSpec lane_of(const char* policy, const char* reward, const Replication& replication, int T0, double grid) {
  for (const PolicyVariant& variant : find_policy(policy)->variants({grid}))
    if (variant.reward == reward) return variant.lane(replication, T0);
  throw std::logic_error("no such variant");
}

Eigen::VectorXd psi_of(const Replication& replication, int row) {
  const Contexts& contexts = replication.tape.contexts;
  return Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(row), contexts.index_size).cast<double>();
}

// The score of box a in the first online period when rho_hat was solved from (psi(x_0), c, mu) alone.
double score_after_x0(const Replication& replication, int a, double mu) {
  const Eigen::VectorXd psi = psi_of(replication, 0);
  const double cost = replication.tape.cost[replication.tape.at(0, a)];
  const double k = test::bisect(
      [&](double value) { return value + cost - std::max(mu - std::tanh(value * psi.squaredNorm()), 0.0); }, -9.0, 9.0);
  return std::tanh(k * psi.dot(psi_of(replication, replication.tape.online_row(0))));
}

TEST(WithoutCalibration, EveryBoxHasOneSampleAtX0) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 9, 3, 21);
  const Trace seen = trace(replication, lane_of("online_plugin", "known", replication, 0, 1.0), "geometric:1.5");
  for (int a = 0; a < 3; ++a)
    EXPECT_NEAR(seen.score[0][a], score_after_x0(replication, a, replication.tape.mu[replication.tape.at(0, a)]), 1e-8);
}

TEST(WithoutCalibration, ThetaStartsAtZeroSoThePlugInRewardIsAHalf) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 0, 3, 22);
  const Trace seen = trace(replication, lane_of("online_plugin", "unknown", replication, 0, 1.0), "geometric:1.5");
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(seen.score[0][a], score_after_x0(replication, a, 0.5), 1e-8);
}

TEST(WithoutCalibration, LinUcbStartsWithNoSample) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 0, 3, 23);
  const Trace seen = trace(replication, lane_of("linucb_online", "none", replication, 0, 0.25), "geometric:1.5");
  const double norm = psi_of(replication, replication.tape.online_row(0)).norm();  // eta_hat = 0 and A = I
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(seen.score[0][a], 0.25 * norm, 1e-12);
  EXPECT_EQ(seen.queried[0], std::vector<int>{0});  // all scores are equal, so the lowest box is opened
}

// Between refits z = rho_hat' psi is linear in psi, so scores at later contexts follow from rho_hat alone.
TEST(Geometric, IndicesAreFrozenBetweenRefitsAndWidthsAreNot) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 20, 60, 24);
  const LaneSpec plug_in = lane_of("online_plugin", "known", replication, 20, 1.0);
  const LaneSpec fixed = lane_of("static_plugin", "known", replication, 20, 1.0);
  const Trace frozen = trace(replication, plug_in, "geometric:1000"),
              solved = trace(replication, fixed, "geometric:1000");
  EXPECT_EQ(frozen.score, solved.score);  // without a refit, the estimates stay those of the calibration
  EXPECT_NE(trace(replication, plug_in, "geometric:1.5").score, solved.score);

  const Trace optimistic = trace(replication, lane_of("dow", "known", replication, 20, 0.1), "geometric:1000");
  std::vector<Eigen::MatrixXd> V(2, Eigen::MatrixXd::Identity(4, 4));
  for (int k = 0; k < 20; ++k) {
    const Eigen::VectorXd psi = psi_of(replication, replication.tape.calibration_row(k));
    V[k % 2] += psi * psi.transpose();
  }
  for (int t = 0; t < 60; ++t) {
    const Eigen::VectorXd psi = psi_of(replication, replication.tape.online_row(t));
    for (int a = 0; a < 2; ++a) {
      EXPECT_NEAR(optimistic.width[t][a], std::sqrt(psi.dot(V[a].ldlt().solve(psi))), 1e-9);
      EXPECT_NEAR(std::atanh(optimistic.score[t][a]), std::atanh(solved.score[t][a]) + 0.1 * optimistic.width[t][a],
                  1e-9);
    }
    for (int a : optimistic.queried[t]) V[a] += psi * psi.transpose();
  }
}

// Counts solves by a box's score. All periods have the same context, so rho_hat' psi changes only at a solve.
TEST(Geometric, RefitsABoxExactlyWhenItsSamplesHaveGrown) {
  Replication replication = test::small_replication(test::small_dimensions(1, 3, 2), Regime::A, 4, 40, 25);
  Contexts& contexts = replication.tape.contexts;
  for (int row = 1; row < contexts.rows; ++row)
    std::copy_n(contexts.psi.begin(), contexts.index_stride, contexts.psi.begin() + row * contexts.index_stride);
  const Trace seen = trace(replication, lane_of("online_plugin", "known", replication, 4, 1.0), "geometric:1.5");
  int n_last = 4;
  for (int t = 0; t + 1 < 40; ++t) {  // there is one box, so every period brings a sample
    const int n = 4 + t + 1;
    const bool due = 2 * n >= 3 * n_last;
    EXPECT_EQ(seen.score[t + 1][0] != seen.score[t][0], due) << "n = " << n;
    if (due) n_last = n;
  }
}

TEST(EveryK, SolvesAllBoxesInEveryKthPeriodOnly) {
  Replication replication = test::small_replication(test::small_dimensions(1, 3, 2), Regime::A, 4, 40, 26);
  Contexts& contexts = replication.tape.contexts;
  for (int row = 1; row < contexts.rows; ++row)
    std::copy_n(contexts.psi.begin(), contexts.index_stride, contexts.psi.begin() + row * contexts.index_stride);
  const Trace seen = trace(replication, lane_of("online_plugin", "known", replication, 4, 1.0), "every:6");
  for (int t = 0; t + 1 < 40; ++t)
    EXPECT_EQ(seen.score[t + 1][0] != seen.score[t][0], (t + 1) % 6 == 0) << "after period " << t + 1;
}

}  // namespace
}  // namespace pandora
