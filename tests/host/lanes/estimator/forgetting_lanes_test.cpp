// Lanes whose samples fade, leave a window or are lost in a restart: every other engine against the reference engine,
// whose estimates forget_test.cpp compares with their formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "host/lanes/model/feedback.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/followers.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::kCalibration;

struct Case {
  const char* name;
  Forgetting forgetting;
  const char* delay;
};
// In each the last change is that of a period which ends no block of 7 or 32. With a half-life of 3 boxes are emptied.
const Case kCases[] = {{"fades", {.half_life = 40}, "0"},
                       {"fades_soon", {.half_life = 3}, "0"},
                       {"window", {.window = 60}, "0"},
                       {"restart", {.restart_at = 90, .lost = 50}, "0"},
                       {"restart_late", {.restart_at = 90, .lost = 50}, "geometric:12"},
                       {"all_late", {.half_life = 60, .window = 90, .restart_at = 131, .lost = 30}, "geometric:12"}};

Replication replication_of(const Case& of, int periods) {
  Replication out = test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, periods, 11);
  FeedbackRules rules;
  rules.delay = parse_delay(of.delay);
  rules.restart_at = of.forgetting.restart_at;
  rules.lost = of.forgetting.lost;
  draw_feedback(out.instance.stream(Purpose::feedback), rules, out.tape);
  return out;
}

class ForgettingLanes : public testing::TestWithParam<std::tuple<Case, const char*>> {
 protected:
  const Case& now() const { return std::get<0>(param_); }
  EstimationOptions estimation() const {
    EstimationOptions options{parse_refit(std::get<1>(param_)), 1.0, 1.0};
    options.forgetting = now().forgetting;
    return options;
  }

 private:
  const std::tuple<Case, const char*> param_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Lanes, ForgettingLanes,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values("geometric:1.5", "tracking", "every:5")),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param).name;
                           for (const char* c = std::get<1>(param.param); *c != '\0'; ++c)
                             if (std::isalpha(*c)) name += *c;
                           return name;
                         });

TEST_P(ForgettingLanes, TheBlockedEngineFollowsTheReference) {
  const Replication replication = replication_of(now(), 160);
  for (const LaneSpec& lane : test::lanes_that_learn(replication))
    test::expect_engines_follow(replication, lane, estimation());
}

// A policy's own estimator forgets as the study says.
TEST_P(ForgettingLanes, APolicyOfWeitzmansRuleEqualsTheReferenceInEveryDigit) {
  const Replication replication = replication_of(now(), 160);
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned}) {
    const LaneSpec lane = test::dow_lane(reward, kCalibration);
    WeitzmanPolicy twin(replication, lane, estimation());
    EXPECT_EQ(run_custom_lane(replication, twin, kCalibration), run_reference_lane(replication, lane, estimation()));
  }
}

// Of so many features Eigen takes another way, on which no columns are an error.
TEST(ForgettingAll, LeavesWhatThereIsBeforeAnySample) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 60, 20), Regime::B, 0, 12, 11);
  for (const Forgetting& how : {Forgetting{.window = 1}, Forgetting{.half_life = 0.5},
                                Forgetting{.restart_at = 1, .lost = 1}, Forgetting{.restart_at = 9, .lost = 9}})
    for (const LaneSpec& lane :
         {test::dow_lane(RewardModel::known, 0), test::dow_lane(RewardModel::learned, 0), test::linucb_lane(0)}) {
      EstimationOptions options{parse_refit("geometric:1.5"), 1.0, 1.0};
      options.forgetting = how;
      test::expect_engines_follow(replication, lane, options);
    }
}

TEST(ForgettingTeams, OfThreadsFollowOneThread) {
  const Case& of = kCases[5];
  EstimationOptions options{parse_refit("tracking"), 1.0, 1.0};
  options.forgetting = of.forgetting;
  test::expect_teams_follow(replication_of(of, 150), options);
}

TEST(ForgettingNever, IsWhatHappensBeforeTheFirstChange) {
  const Replication replication = replication_of(kCases[0], 100);
  for (const LaneSpec& lane : test::lanes_that_learn(replication)) {
    EstimationOptions plain{parse_refit("geometric:1.5"), 1.0, 1.0}, later = plain;
    later.forgetting = {.half_life = 404, .window = 404, .restart_at = 101, .lost = 50};
    const auto run = [&](const EstimationOptions& options) {
      return run_on_cpu<float>(replication, std::span(&lane, 1), {options, 32})[0];
    };
    EXPECT_EQ(run(plain), run(later));
  }
}

TEST(ForgettingPeriods, AreQuartersOfHalfLifeAndWindowAndTheRestart) {
  const Forgetting how{.half_life = 10, .window = 40, .restart_at = 13, .lost = 5};
  std::vector<int> found;
  for (int t = how.next(1); t <= 24; t = how.next(t + 1)) found.push_back(t);
  EXPECT_EQ(found, (std::vector<int>{2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20, 22, 24}));
  EXPECT_DOUBLE_EQ(std::pow(how.factor(), 5), 0.5);
  EXPECT_EQ(how.first_kept(30), 0);   // the calibration too, as 30 periods are within the window
  EXPECT_EQ(how.first_kept(60), 21);  // 40 periods
  EXPECT_EQ(how.last_kept(13), 8);
  EXPECT_EQ(how.last_kept(14), 14);
  EXPECT_GT(Forgetting{}.next(1), 1000000000);
}

}  // namespace
}  // namespace pandora
