// Tests lanes in scenarios on every engine: rewards come late, seldom or wrong; samples fade, leave a window or are
// lost; boxes come and go; lanes keep to a budget. forget_test.cpp compares estimates that forget with their formulas.
#include <gtest/gtest.h>

#include <cctype>

#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/feedback.hpp"
#include "tests/reference/followers.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::kCalibration;

struct Scenario {
  const char* name;
  const char* delay = "0";
  double share = 1.0, flip = 0.0;
  // In each case, the last change comes in a period that ends no block of 7 or 32. A half-life of 3 leaves boxes
  // without samples.
  Forgetting forgetting = {};
  const char *arrives = "", *leaves = "";
  Pacing pacing = {};
  const char* reward_refit = "";
  Actions actions = {};

  friend void PrintTo(const Scenario& one, std::ostream* out) { *out << one.name; }
};
const Scenario kScenarios[] = {
    {.name = "late", .delay = "9"},
    {.name = "seldom_and_wrong", .delay = "geometric:12", .share = 0.6, .flip = 0.1},
    {.name = "seldom", .share = 0.3},
    {.name = "fades", .forgetting = {.half_life = 40}},
    {.name = "fades_soon", .forgetting = {.half_life = 3}},
    {.name = "window", .forgetting = {.window = 60}},
    {.name = "restart", .forgetting = {.restart_at = 90, .lost = 50}},
    {.name = "restart_late", .delay = "geometric:12", .forgetting = {.restart_at = 90, .lost = 50}},
    {.name = "all_late",
     .delay = "geometric:12",
     .forgetting = {.half_life = 60, .window = 90, .restart_at = 131, .lost = 30}},
    {.name = "boxes", .arrives = "box 3:40,box 1:130", .leaves = "box 1:100,box 2:160"},
    {.name = "queries", .pacing = {Pacing::Of::queries, 1.2, 0.05, 0.02}},
    {.name = "costs", .pacing = {Pacing::Of::costs, 0.1, 0.2, 0.0}},
    {.name = "theta_at_doublings", .reward_refit = "geometric:1"},
    {.name = "theta_by_half", .reward_refit = "geometric:1.5"},
    {.name = "again", .actions = {.openings = 3}},
    {.name = "outside", .actions = {.outside = 0.55}},
    {.name = "unopened", .actions = {.uninspected = true}},
    {.name = "wider", .delay = "geometric:12", .actions = {.openings = 2, .uninspected = true, .outside = 0.45}}};

Replication replication_of(const Scenario& of, int periods) {
  Replication out =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, periods, 11, 0, of.actions);
  FeedbackRules rules;
  rules.delay = parse_delay(of.delay);
  rules.share = of.share;
  rules.flip = of.flip;
  rules.restart_at = of.forgetting.restart_at;
  rules.lost = of.forgetting.lost;
  draw_feedback(out.instance.stream(Purpose::feedback), rules, out.tape);
  Environment environment;
  environment.arrives = parse_box_changes(of.arrives);
  environment.leaves = parse_box_changes(of.leaves);
  apply_box_changes(environment, false, out);
  if (of.actions.uninspected)
    decide_benchmarks(draw_shock_sample(out.instance, test::small_oracle().samples), test::small_oracle(), out);
  return out;
}

EstimationOptions estimation_of(const Scenario& of, const char* schedule) {
  EstimationOptions options{parse_refit(schedule), 1.0, 1.0};
  options.forgetting = of.forgetting;
  if (*of.reward_refit != '\0') options.refit_reward = parse_reward_refit(of.reward_refit);
  return options;
}

class Scenarios : public testing::TestWithParam<std::tuple<Scenario, const char*>> {
 protected:
  const Scenario& now() const { return std::get<0>(param_); }
  EstimationOptions estimation() const { return estimation_of(now(), std::get<1>(param_)); }
  std::vector<LaneSpec> lanes(const Replication& replication) const {
    std::vector<LaneSpec> out;
    for (LaneSpec lane : test::all_lanes(replication, {0, kCalibration}, {0.1}, true)) {
      lane.pacing = now().pacing;
      const bool all = *now().leaves != '\0' || lane.paces() ||
                       now().actions.wide();  // others are what they are without the scenario
      if (all || lane.learning != Learning::none) out.push_back(lane);
    }
    return out;
  }

 private:
  const std::tuple<Scenario, const char*> param_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Lanes, Scenarios,
                         testing::Combine(testing::ValuesIn(kScenarios),
                                          testing::Values("geometric:1.5", "tracking", "every:5")),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param).name;
                           for (const char* c = std::get<1>(param.param); *c != '\0'; ++c)
                             if (std::isalpha(*c)) name += *c;
                           return name;
                         });

TEST_P(Scenarios, TheReferenceIsTheNaiveLane) {
  if (now().forgetting.half_life > 0.0 || now().forgetting.dated()) return;  // it forgets nothing
  const Replication replication = replication_of(now(), 120);
  for (const LaneSpec& lane : lanes(replication)) {
    if (test::armed(lane, replication).follow != Follow::nothing) continue;  // its decisions are given
    const LaneTally tally = test::expect_naive_lane(replication, lane, estimation());
    if (lane.score == Score::oracle_index && lane.order == Order::by_score && !lane.paces()) {
      EXPECT_EQ(tally.regret, RegretParts{});
    }
  }
}

TEST_P(Scenarios, EveryEngineFollowsTheReference) {
  const Replication replication = replication_of(now(), 200);
  for (const LaneSpec& lane : lanes(replication))
    test::expect_engines_follow(replication, test::armed(lane, replication), estimation(),
                                {replication.actions.openings, 7, 32});
}

// The estimator in a policy by code forgets, and waits for rewards, as the study says.
TEST_P(Scenarios, APolicyOfWeitzmansRuleEqualsTheReferenceInEveryDigit) {
  if (!now().actions.wide()) test::expect_twins(replication_of(now(), 200), estimation());  // code opens each box once
}

TEST(ScenarioTeams, OfThreadsFollowOneThread) {
  for (const Scenario& scenario : {kScenarios[1], kScenarios[8], *(std::end(kScenarios) - 1)})
    test::expect_teams_follow(replication_of(scenario, 150), estimation_of(scenario, "tracking"));
}

// No lane opens a box that is not there.
TEST(ScenarioBoxes, AreOpenedWhereTheyAreThere) {
  const Scenario& scenario = kScenarios[9];
  const Replication replication = replication_of(scenario, 200);
  for (const LaneSpec& lane : test::all_lanes(replication, {0, kCalibration}, {0.1})) {
    LaneRecord record;
    run_reference_lane(replication, lane, estimation_of(scenario, "tracking"), &record);
    for (int t = 0; t < 200; ++t) {
      const PeriodOutcome& outcome = record.outcomes[static_cast<std::size_t>(t)];
      for (int k = 0; k < outcome.queried; ++k)
        ASSERT_TRUE(holds(replication.tape.there(replication.tape.online_row(t)), outcome.order[k])) << t;
    }
  }
}

// Before the first change, a lane is the same as without forgetting.
TEST(ScenarioForgetting, ChangesNothingBeforeItsTime) {
  const Replication replication = replication_of(kScenarios[3], 100);
  for (const LaneSpec& lane : test::lanes_that_learn(replication)) {
    EstimationOptions plain{parse_refit("geometric:1.5"), 1.0, 1.0}, later = plain;
    later.forgetting = {.half_life = 404, .window = 404, .restart_at = 101, .lost = 50};
    const auto run = [&](const EstimationOptions& options) {
      return run_on_cpu<float>(replication, std::span(&lane, 1), {options, 32})[0];
    };
    EXPECT_EQ(run(plain), run(later));
  }
}

// For so many features Eigen takes another path, in which a matrix without columns is an error.
TEST(ScenarioForgetting, LeavesWhatThereIsBeforeAnySample) {
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

TEST(ScenarioForgetting, ComesInQuartersOfHalfLifeAndWindowAndAtTheRestart) {
  const Forgetting how{.half_life = 10, .window = 40, .restart_at = 13, .lost = 5};
  std::vector<int> found;
  for (int t = how.next(1); t <= 24; t = how.next(t + 1)) found.push_back(t);
  EXPECT_EQ(found, (std::vector<int>{2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20, 22, 24}));
  EXPECT_DOUBLE_EQ(std::pow(how.factor(), 5), 0.5);
  EXPECT_EQ(how.first_kept(30), 0);   // also the calibration, as 30 periods lie within the window
  EXPECT_EQ(how.first_kept(60), 21);  // 40 periods are kept
  EXPECT_EQ(how.last_kept(13), 8);
  EXPECT_EQ(how.last_kept(14), 14);
  EXPECT_GT(Forgetting{}.next(1), 1000000000);
}

}  // namespace
}  // namespace pandora
