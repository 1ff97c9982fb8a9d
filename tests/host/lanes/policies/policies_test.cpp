// The policies as data: names, information and lanes. Also tests what each of them does in a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "host/studies/study/study.hpp"
#include "pandora/policy.hpp"
#include "tests/experiments/rivals/rivals.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Variants = std::vector<std::pair<std::string, std::string>>;  // pairs (reward, hyperparameter)

Variants variants_of(const char* policy, const std::vector<double>& grid) {
  Variants out;
  for (const PolicyVariant& variant : find_policy(policy)->variants(grid))
    out.emplace_back(variant.reward, variant.hyperparameter);
  return out;
}

const Replication& replication() {
  static const Replication made = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 12, 200, 51);
  return made;
}

LaneSpec lane(const char* policy, std::size_t variant = 0, int T0 = 12) {
  return find_policy(policy)->variants({0.001, 0.1, 1.0})[variant].lane(replication(), T0);
}

struct LaneRun {
  LaneTally tally;
  std::vector<PeriodOutcome> outcomes;
};

LaneRun run(const LaneSpec& spec) {
  LaneRun out;
  out.tally = test::run_observed(replication(), spec, {},
                                 [&](const test::PeriodView& view) { out.outcomes.push_back(*view.outcome); });
  return out;
}

// The policies of host/lanes/policies, without those of experiments/rivals.
std::vector<const Policy*> built_in_policies() {
  std::vector<const Policy*> out;
  for (const Policy& policy : all_policies())
    if (!test::names_of_rivals().contains(policy.name)) out.push_back(&policy);
  return out;
}

TEST(Policies, AreListedInTheOrderOfTheTables) {
  std::string names;
  for (const Policy* built_in : built_in_policies()) names += built_in->name + " ";
  for (const Policy& policy : all_policies()) {
    EXPECT_EQ(find_policy(policy.name), &policy);
  }
  EXPECT_EQ(names,
            "oracle online_plugin dow static_plugin linucb_online linucb_static frugalgpt best_single random_order "
            "query_all shrunk_weitzman thompson_weitzman epsilon_greedy_weitzman empirical_weitzman tied_weitzman "
            "linucb_router hindsight best_cascade best_of_n commit_or_search ");
  EXPECT_EQ(find_policy("greedy"), nullptr);
  EXPECT_EQ(find_policy(""), nullptr);
}

// A study that names no policies runs the paper's, its yardsticks, and registered ones.
TEST(Policies, ThatArePastThePaperMustBeNamed) {
  for (const Policy* policy : built_in_policies()) {
    const std::set<std::string> others = {"linucb_router", "hindsight", "best_cascade", "best_of_n",
                                          "commit_or_search"};
    const bool past = policy->name.ends_with("_weitzman") || others.contains(policy->name);
    EXPECT_EQ(policy->by_name_only, past) << policy->name;
  }
  Study study;
  study.environments = {paper_environments()[0]};
  for (const PlannedLane& lane : make_plan(study).lanes) EXPECT_FALSE(lane.policy->by_name_only);
  study.policies = {"shrunk_weitzman"};
  EXPECT_EQ(make_plan(study).lanes.back().policy->name, "shrunk_weitzman");
}

TEST(Policies, StateWhatTheyNeedOfTheCalibration) {
  const std::set<std::string> needing = {"static_plugin", "linucb_static", "frugalgpt"};
  const std::set<std::string> ignoring = {"oracle",    "best_single",  "random_order", "query_all",
                                          "hindsight", "best_cascade", "best_of_n",    "commit_or_search"};
  for (const Policy* policy : built_in_policies()) {
    EXPECT_EQ(policy->needs_calibration, needing.contains(policy->name)) << policy->name;
    EXPECT_EQ(policy->uses_calibration, !ignoring.contains(policy->name)) << policy->name;
    EXPECT_FALSE(policy->summary.empty()) << policy->name;
  }
}

TEST(Policies, HaveTheirInformationSettingsAndHyperparameters) {
  const std::vector<double> grid = {0.001, 0.1};
  EXPECT_EQ(variants_of("oracle", grid), (Variants{{"known", ""}}));
  EXPECT_EQ(variants_of("online_plugin", grid), (Variants{{"known", ""}, {"unknown", ""}}));
  EXPECT_EQ(variants_of("static_plugin", grid), (Variants{{"known", ""}, {"unknown", ""}}));
  EXPECT_EQ(variants_of("dow", grid), (Variants{{"known", "c_rho=0.001"},
                                                {"known", "c_rho=0.1"},
                                                {"unknown", "c_rho=0.001;c_theta=0.001"},
                                                {"unknown", "c_rho=0.001;c_theta=0.1"},
                                                {"unknown", "c_rho=0.1;c_theta=0.001"},
                                                {"unknown", "c_rho=0.1;c_theta=0.1"}}));
  EXPECT_EQ(variants_of("linucb_online", grid), (Variants{{"none", "c_b=0.001"}, {"none", "c_b=0.1"}}));
  EXPECT_EQ(variants_of("linucb_static", grid), (Variants{{"none", ""}}));
  EXPECT_EQ(variants_of("frugalgpt", grid), (Variants{{"known", ""}}));
  EXPECT_EQ(variants_of("best_single", grid), (Variants{{"none", ""}}));
  EXPECT_EQ(variants_of("random_order", grid), (Variants{{"known", ""}}));
  EXPECT_EQ(variants_of("query_all", grid), (Variants{{"known", ""}}));
}

struct Rules {
  Order order = Order::by_score;
  Score score = Score::none;
  Stop stop = Stop::best_reaches_scores_left;
  RewardModel reward = RewardModel::known;
  Learning learning = Learning::none;
  double c_rho = 0.0, c_theta = 0.0, c_b = 0.0;

  friend bool operator==(const Rules&, const Rules&) = default;
};

TEST(Policies, HaveTheRulesOfTheirLanes) {
  const auto weitzman = [](RewardModel reward, Learning learning, double c_rho = 0.0, double c_theta = 0.0) {
    return Rules{
        .score = Score::learned_index, .reward = reward, .learning = learning, .c_rho = c_rho, .c_theta = c_theta};
  };
  const auto linucb = [](Learning learning, double c_b) {
    return Rules{.score = Score::learned_payoff, .stop = Stop::after_first, .learning = learning, .c_b = c_b};
  };
  const std::tuple<const char*, std::size_t, Rules> lanes[] = {
      {"online_plugin", 0, weitzman(RewardModel::known, Learning::online)},
      {"online_plugin", 1, weitzman(RewardModel::learned, Learning::online)},
      {"static_plugin", 0, weitzman(RewardModel::known, Learning::calibration)},
      {"static_plugin", 1, weitzman(RewardModel::learned, Learning::calibration)},
      {"dow", 1, weitzman(RewardModel::known, Learning::online, 0.1)},
      {"dow", 3, weitzman(RewardModel::learned, Learning::online, 0.001, 0.001)},
      {"dow", 5, weitzman(RewardModel::learned, Learning::online, 0.001, 1.0)},
      {"dow", 9, weitzman(RewardModel::learned, Learning::online, 1.0, 0.001)},
      {"linucb_online", 2, linucb(Learning::online, 1.0)},
      {"linucb_static", 0, linucb(Learning::calibration, 0.0)},
      {"oracle", 0, {.score = Score::oracle_index}},
      {"best_single", 0, {.order = Order::listed, .stop = Stop::after_first}},
      {"random_order", 0, {.order = Order::random, .score = Score::oracle_index}},
      {"query_all", 0, {.stop = Stop::never}},
      {"frugalgpt", 0, {.order = Order::listed, .stop = Stop::last_reaches_threshold}}};
  for (const auto& [policy, variant, rules] : lanes) {
    const LaneSpec l = lane(policy, variant);
    EXPECT_EQ((Rules{l.order, l.score, l.stop, l.reward, l.learning, l.c_rho, l.c_theta, l.c_b}), rules) << policy;
    EXPECT_EQ(l.T0, 12) << policy;
  }
}

TEST(Policies, BestSingleIsTheBestBoxInHindsight) {
  double best = -1e9, sum_of_best = 0.0;
  int best_box = -1;
  for (int a = 0; a < 3; ++a) {
    double sum = 0.0;
    for (int t = 0; t < 200; ++t) {
      const std::size_t at = (static_cast<std::size_t>(1 + 12 + t)) * 3 + a;
      sum += replication().tape.mu[at] - replication().tape.cost[at];
    }
    if (sum > best) {
      best = sum;
      best_box = a;
      sum_of_best = sum;
    }
  }
  const LaneRun single = run(lane("best_single"));
  for (const PeriodOutcome& outcome : single.outcomes) {
    ASSERT_EQ(outcome.queried, 1);
    ASSERT_EQ(outcome.deployed, best_box);
  }
  EXPECT_NEAR(single.tally.utility, sum_of_best, 1e-10);
}

TEST(Policies, QueryAllOpensEveryBoxAndDeploysTheBest) {
  const LaneRun all = run(lane("query_all"));
  for (int t = 0; t < 200; ++t) {
    ASSERT_EQ(all.outcomes[t].queried, 3);
    const double* mu = &replication().tape.mu[replication().tape.at(replication().tape.online_row(t), 0)];
    ASSERT_EQ(all.outcomes[t].deployed, std::max_element(mu, mu + 3) - mu);
  }
  EXPECT_EQ(all.tally.depth[3], 200.0);
}

// Each of the six orders has probability 1/6. The bound is five standard errors for each.
TEST(Policies, RandomOrderIsUniformAndStopsByTheIndicesLeft) {
  Replication many = test::small_replication(test::small_dimensions(3, 2, 2), Regime::B, 0, 3000, 52);
  LaneSpec spec = lane("random_order");
  spec.stop = Stop::never;  // so that whole orders show
  std::vector<int> count(27);
  test::run_observed(many, spec, {}, [&](const test::PeriodView& view) {
    ++count[static_cast<std::size_t>(9 * view.outcome->order[0] + 3 * view.outcome->order[1] + view.outcome->order[2])];
  });
  const double standard_error = std::sqrt(3000.0 * (1.0 / 6.0) * (5.0 / 6.0));
  for (int first = 0; first < 3; ++first)
    for (int second = 0; second < 3; ++second)
      for (int third = 0; third < 3; ++third) {
        const bool permutation = first != second && second != third && first != third;
        EXPECT_NEAR(count[static_cast<std::size_t>(9 * first + 3 * second + third)], permutation ? 500.0 : 0.0,
                    permutation ? 5.0 * standard_error : 0.0);
      }

  const LaneRun stopped = run(lane("random_order"));
  bool descending = true;
  for (int t = 0; t < 200; ++t) {
    const PeriodOutcome& outcome = stopped.outcomes[t];
    const std::size_t at = replication().tape.at(replication().tape.online_row(t), 0);
    std::vector<double> left(&replication().sigma[at], &replication().sigma[at] + 3);  // -1e9 for open boxes
    double best = -1.0, last = 1e9;
    for (int k = 0; k < outcome.queried; ++k) {
      const int box = outcome.order[k];
      ASSERT_LT(best, std::ranges::max(left));  // it went on, because some box left had a larger index
      descending = descending && last >= left[box];
      last = std::exchange(left[box], -1e9);
      best = std::max(best, replication().tape.mu[at + box]);
    }
    ASSERT_GE(best, std::ranges::max(left));
  }
  EXPECT_FALSE(descending);  // so the order is not the oracle's
}

TEST(Policies, LinUcbQueriesOneBoxAPeriod) {
  for (const char* name : {"linucb_online", "linucb_static"}) {
    const LaneRun one = run(lane(name));
    EXPECT_EQ(one.tally.queries(), 200.0) << name;
    for (const PeriodOutcome& outcome : one.outcomes) ASSERT_EQ(outcome.deployed, outcome.order[0]);
  }
}

Study study_of(std::vector<int> T0) {
  Study study;
  study.environments = {paper_environments()[0], paper_environments()[2]};
  study.T0 = std::move(T0);
  study.replications = 3;
  study.hyperparameters = {0.1};
  return study;
}

TEST(MakePlan, LeavesOutWhatNeedsACalibration) {
  const Plan plan = make_plan(study_of({0}));
  for (const PlannedLane& planned : plan.lanes) EXPECT_FALSE(planned.policy->needs_calibration) << planned.policy->name;
  EXPECT_EQ(plan.calibration_periods, 0);
  const Plan two = make_plan(study_of({0, 20}));
  int statics = 0;
  for (const PlannedLane& planned : two.lanes)
    if (planned.policy->needs_calibration) {
      EXPECT_EQ(planned.T0, 20) << planned.policy->name;
      ++statics;
    }
  EXPECT_EQ(statics, 4);  // the static plug-in twice, static LinUCB and FrugalGPT
  EXPECT_EQ(two.calibration_periods, 20);
}

TEST(MakePlan, SimulatesPoliciesThatIgnoreTheCalibrationOnce) {
  const Plan plan = make_plan(study_of({0, 20, 40}));
  for (const char* name : {"oracle", "best_single", "random_order", "query_all"})
    EXPECT_EQ(std::count_if(plan.lanes.begin(), plan.lanes.end(),
                            [&](const PlannedLane& planned) { return planned.policy->name == name; }),
              1)
        << name;
  EXPECT_EQ(std::count_if(plan.lanes.begin(), plan.lanes.end(),
                          [](const PlannedLane& planned) { return planned.policy->name == "dow"; }),
            2 * 3);
}

TEST(MakePlan, PutsTheOracleFirstWhateverIsChosen) {
  Study study = study_of({50});
  study.policies = {"query_all", "dow"};
  const Plan plan = make_plan(study);
  std::vector<std::string> names;
  for (const PlannedLane& planned : plan.lanes) names.push_back(planned.policy->name);
  EXPECT_EQ(names, (std::vector<std::string>{"oracle", "dow", "dow", "query_all"}));
}

TEST(MakePlan, OrdersUnitsByEnvironmentRegimeReplication) {
  const Plan plan = make_plan(study_of({0}));
  ASSERT_EQ(plan.units.size(), 2u * 2u * 3u);
  std::size_t k = 0;
  for (const char* environment : {"uniform", "student_t5"})
    for (const Regime regime : {Regime::A, Regime::B})
      for (std::uint32_t r = 0; r < 3; ++r, ++k) {
        EXPECT_EQ(plan.units[k].environment.name, environment);
        EXPECT_EQ(plan.units[k].regime, regime);
        EXPECT_EQ(plan.units[k].replication, r);
      }
}

// Lanes without a bonus on rewards keep their names.
TEST(ShrunkWeitzman, HasLanesOfItsOwnForABonusOnRewards) {
  Grids grids;
  grids.set("c_shrunk", {0.2});
  grids.set("c_shrunk_theta", {0.0, 1.0});
  const std::vector<PolicyVariant> variants = find_policy("shrunk_weitzman")->variants(grids);
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[1].hyperparameter, "c_shrunk=0.2");
  EXPECT_EQ(variants[2].hyperparameter, "c_shrunk=0.2;c_shrunk_theta=1");
}

}  // namespace
}  // namespace pandora
