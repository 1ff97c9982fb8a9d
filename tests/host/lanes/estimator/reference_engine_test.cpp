// Compares whole lanes of the reference engine with the naive lane, for every policy and kind of schedule.
#include "host/lanes/estimator/reference_engine.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "pandora/policy.hpp"
#include "tests/reference/followers.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Compares every variant of every policy.
void expect_same_policies(const Replication& replication, int T0, const EstimationOptions& options) {
  for (const Policy& policy : all_policies()) {
    if (policy.needs_calibration && T0 == 0) continue;
    for (const PolicyVariant& variant : policy.variants({0.02, 0.5})) {
      if (!variant.lane) continue;  // the policy is code
      SCOPED_TRACE(policy.name + " " + variant.reward + " " + variant.hyperparameter + ", T0 = " + std::to_string(T0));
      LaneSpec lane = variant.lane(replication, T0);
      if (lane.unopened || lane.follow != Follow::nothing) continue;  // of wider actions: scenario_lanes_test.cpp
      tie_slopes(lane, {{0, 1}}, replication.tape.boxes());           // where slopes are tied
      test::expect_naive_lane(replication, lane, options);
      if (testing::Test::HasFailure()) return;
    }
  }
}

class EverySchedule : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ReferenceEngine, EverySchedule,
                         testing::Values("every_period", "every:7", "geometric:1.5", "geometric:1.1", "tracking"),
                         [](const auto& schedule) {
                           std::string name = schedule.param;
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });

TEST_P(EverySchedule, IsTheNaiveLaneWithoutCalibration) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 0, 150, 11);
  expect_same_policies(replication, 0, {parse_refit(GetParam()), 1.0, 1.0});
}

// After five calibration periods, the three boxes have unequal numbers of samples.
TEST_P(EverySchedule, IsTheNaiveLaneAfterAFewCalibrationPeriods) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 3), Regime::B, 20, 120, 12);
  expect_same_policies(replication, 5, {parse_refit(GetParam()), 0.3, 2.0});
}

// There are fewer calibration periods than boxes, so the last boxes start without a sample.
TEST_P(EverySchedule, IsTheNaiveLaneWithBoxesThatWereNeverCalibrated) {
  const Replication replication = test::small_replication(test::small_dimensions(4, 4, 2), Regime::B, 2, 100, 13);
  expect_same_policies(replication, 2, {parse_refit(GetParam()), 1.0, 0.5});
}

TEST_P(EverySchedule, IsTheNaiveLaneWithSquaredFeatures) {
  Dimensions dimensions = test::small_dimensions(2, 3, 2);
  dimensions.index_features = IndexFeatures::affine_and_squares;
  const Replication replication = test::small_replication(dimensions, Regime::B, 12, 100, 14);
  expect_same_policies(replication, 12, {parse_refit(GetParam()), 1.0, 1.0});
}

// Above 200 samples of a box, `tracking` takes Newton steps between exact solves. These steps use Hinv and M.
TEST(ReferenceEngine, IsTheNaiveLaneWhereTrackingTakesNewtonSteps) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 12, 480, 16);
  const EstimationOptions options = {parse_refit("tracking"), 1.0, 1.0};
  for (const char* name : {"online_plugin", "dow"})
    for (const PolicyVariant& variant : find_policy(name)->variants({0.1})) {
      SCOPED_TRACE(std::string(name) + " " + variant.reward);
      const LaneTally tally = test::expect_naive_lane(replication, variant.lane(replication, 12), options);
      EXPECT_GT(std::max(tally.queries_of_box[0], tally.queries_of_box[1]), 260.0);  // so there were two exact solves
    }
}

// The study's settings that hold for every policy. Each is tested with known and learned rewards, with and without a
// calibration.
class EveryRule : public testing::TestWithParam<std::tuple<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(ReferenceEngine, EveryRule,
                         testing::Combine(testing::Values("geometric:1.5", "tracking"), testing::Values(0, 7)));

TEST_P(EveryRule, IsTheNaiveLane) {
  const char* const schedule = std::get<0>(GetParam());
  const int T0 = std::get<1>(GetParam());
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 7, 110, 18);
  const auto check = [&](const char* name, const std::function<void(EstimationOptions&)>& say) {
    EstimationOptions options = {parse_refit(schedule), 0.5, 2.0};
    say(options);
    for (const PolicyVariant& variant : find_policy(name)->variants({0.3})) {
      SCOPED_TRACE(std::string(name) + " " + variant.reward);
      LaneSpec lane = with_estimation(variant.lane(replication, T0), options, 3, 5, 2, 110);
      tie_slopes(lane, {{0, 2}}, 3);  // where slopes are tied
      test::expect_naive_lane(replication, lane, options);
    }
  };
  for (const Bonus bonus :
       {Bonus::constant, Bonus::inverse_sqrt, Bonus::log, Bonus::log_ratio, Bonus::count, Bonus::theory}) {
    SCOPED_TRACE("bonus " + std::to_string(static_cast<int>(bonus)));
    for (const char* name : {"dow", "shrunk_weitzman", "thompson_weitzman", "linucb_online"})
      check(name, [&](EstimationOptions& options) {
        options.bonus = bonus;
        options.theory = {0.1, 0.02, 0.05, 0.7, 1.5, 0.1, 0.4, 0.3};
      });
  }
  for (const double slopes : {0.05, 20.0})
    for (const char* name : {"online_plugin", "dow", "atsidakou", "shrunk_weitzman", "linucb_online"})
      check(name, [&](EstimationOptions& options) {
        options.ridge_slopes = slopes;
        if (std::string(name) != "dow") return;
        options.bonus = Bonus::theory;  // it uses the larger of the two ridges
        options.theory = {0.1, 0.002, 0.005, 0.7, 1.5, 0.1, 0.4, 0.3};
      });
  for (const double payoff : {0.1, 25.0})
    check("linucb_online", [&](EstimationOptions& options) { options.ridge_payoff = payoff; });
  for (const int forced : {0, 3, 12})
    for (const char* name : {"dow", "shrunk_weitzman", "atsidakou"})
      check(name, [&](EstimationOptions& options) { options.forced = forced; });
  check("tied_weitzman", [](EstimationOptions&) {});
  for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level, Shrinkage::fixed})
    check("shrunk_weitzman", [&](EstimationOptions& options) {
      options.shrinkage = shrinkage;
      options.ridge_mean = 20.0;
      options.ridge_own = 60.0;
    });
  for (const double tolerance : {1e-9, 0.5, 100.0})
    for (const int steps : {1, 2, 5})
      check("shrunk_weitzman", [&](EstimationOptions& options) {
        options.joint_steps = steps;
        options.joint_tolerance = tolerance;
      });
}

TEST(ReferenceEngine, IsTheNaiveLaneWhereThetaHasAScheduleOfItsOwn) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 7, 260, 19);
  for (const char* schedule : {"geometric:1.5", "tracking", "every:7"})
    for (const char* reward : {"geometric:1", "geometric:1.5", "geometric:4"})
      for (const char* name : {"dow", "shrunk_weitzman"})
        for (const PolicyVariant& variant : find_policy(name)->variants({0.3})) {
          if (variant.reward != "unknown") continue;
          SCOPED_TRACE(std::string(schedule) + ", theta_hat " + reward + ", " + name);
          EstimationOptions options = {parse_refit(schedule), 0.5, 2.0};
          const LaneTally stepping = run_reference_lane(replication, variant.lane(replication, 7), options, nullptr);
          options.refit_reward = parse_reward_refit(reward);
          const LaneTally tally = test::expect_naive_lane(replication, variant.lane(replication, 7), options);
          EXPECT_TRUE(options.refit_reward.growth < 2.0 || tally != stepping);  // steps stay close to frequent solves
        }
}

// Estimates are kept in balls, which are active in parts of a run. This also holds under `tracking`, which solves a box
// or theta_hat on the sphere at every sample.
TEST(ReferenceEngine, IsTheNaiveLaneInBalls) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 7, 240, 21);
  const auto check = [&](const char* schedule, const char* reward, double rho, double theta, double loss) {
    SCOPED_TRACE(std::string(schedule) + " " + reward + " " + std::to_string(rho));
    EstimationOptions options = {parse_refit(schedule), 0.6, 0.5};
    options.ridge_slopes = 0.4;
    options.ridge_loss = loss;
    options.radius_rho = rho;
    options.radius_theta = theta;
    for (const PolicyVariant& variant : find_policy("dow")->variants({0.1})) {
      if (variant.reward != reward) continue;
      const LaneSpec lane = variant.lane(replication, 7);
      test::expect_naive_lane(replication, lane, options);
      LaneRecord inside, outside;
      run_reference_lane(replication, lane, options, &inside);
      options.radius_rho = options.radius_theta = 0.0;
      run_reference_lane(replication, lane, options, &outside);
      EXPECT_NE(inside.scores, outside.scores);
      const auto norm = [](const double* at, int n) { return Eigen::Map<const Eigen::VectorXd>(at, n).norm(); };
      for (int a = 0; a < 2 && rho > 0.0; ++a) EXPECT_LE(norm(&inside.rho[4 * a], 4), rho * (1.0 + 1e-12));
      EXPECT_LE(theta > 0.0 ? norm(inside.theta.data(), 2) : 0.0, theta * (1.0 + 1e-12));
    }
  };
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    check(schedule, "known", 0.45, 0.0, 0.01);
    check(schedule, "unknown", 0.7, 1.1, 0.0);
  }
  check("every:5", "unknown", 0.0, 1.1, 0.3);
}

TEST(ReferenceEngine, TheCurveIsWhatAnObserverAccumulates) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 6, 90, 17);
  const std::vector<int> at = checkpoints(90);
  for (const LaneSpec& lane : test::all_lanes(replication, {0, 6})) {
    double sum = 0.0;
    std::vector<double> expected;
    const LaneTally tally = test::run_observed(replication, lane, {}, [&](const test::PeriodView& view) {
      const int row = replication.tape.online_row(view.period);
      double spent = 0.0;
      for (int k = 0; k < view.outcome->queried; ++k)
        spent += replication.tape.cost[replication.tape.at(row, view.outcome->order[k])];
      sum += replication.tape.mu[replication.tape.at(row, view.outcome->deployed)] - spent;
      if (std::find(at.begin(), at.end(), view.period + 1) != at.end()) expected.push_back(sum);
    });
    EXPECT_EQ(std::vector<double>(tally.curve, tally.curve + tally.recorded), expected);
    EXPECT_EQ(expected.back(), tally.utility);
  }
}

TEST(ReferenceEngine, LooksAtThePreviousPeriodsOnly) {
  // The last period's outputs, costs and rewards change nothing that happens before it.
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 6, 60, 15);
  Replication changed = replication;
  const int last = changed.tape.online_row(59);
  for (int a = 0; a < 3; ++a) {
    const std::size_t at = changed.tape.at(last, a);
    changed.tape.mu[at] = 1.0 - changed.tape.mu[at];
    changed.tape.cost[at] += 0.5;
    changed.tape.reward[at] = 1 - changed.tape.reward[at];
    changed.tape.phi[at * 2] += 3.0f;
  }
  for (const char* name : {"online_plugin", "dow", "static_plugin", "linucb_online", "linucb_static"})
    for (const PolicyVariant& variant : find_policy(name)->variants({0.1})) {
      SCOPED_TRACE(std::string(name) + " " + variant.reward);
      std::vector<std::vector<double>> scores[2];
      int k = 0;
      for (const Replication* r : {&replication, static_cast<const Replication*>(&changed)}) {
        test::run_observed(*r, variant.lane(*r, 6), {},
                           [&](const test::PeriodView& view) { scores[k].emplace_back(view.score, view.score + 3); });
        ++k;
      }
      EXPECT_EQ(scores[0], scores[1]);
    }
}

// With a schedule of its own, theta_hat does not move between solves.
TEST(RewardSchedule, StandsStillBetweenSolves) {
  const LaneSpec lane = test::dow_lane(RewardModel::learned, 8);
  const auto theta_after = [&](int periods, const char* reward) {
    const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 8, periods, 62);
    EstimationOptions options{parse_refit("geometric:1.5"), 1.0, 2.0};
    options.refit_reward = parse_reward_refit(reward);
    LaneRecord record;
    run_reference_lane(replication, lane, options, &record);
    return record.theta;
  };
  // theta_hat is solved at 8 samples, after the calibration, and at 16.
  EXPECT_EQ(theta_after(1, "geometric:2"), theta_after(7, "geometric:2"));
  EXPECT_NE(theta_after(7, "geometric:2"), theta_after(8, "geometric:2"));
  EXPECT_NE(theta_after(1, "tracking"), theta_after(7, "tracking"));
}

}  // namespace
}  // namespace pandora
