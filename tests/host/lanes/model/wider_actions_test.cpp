// The benchmarks of wider actions: what the optimal policy brings is what the programme of the period's laws says, and no
// policy brings more. scenario_lanes_test.cpp holds the lanes to naive ones.
#include "host/lanes/model/wider_actions.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "oracle/exact_programme.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The names of cases; without it they hold the bytes of the object, padding included.
std::string name_of(const testing::TestParamInfo<Actions>& info) {
  const Actions& a = info.param;
  return std::to_string(a.openings) + (a.uninspected ? "unopened" : "") + (a.has_outside() ? "outside" : "");
}

Study study_of(const Actions& actions, Regime regime, int periods, std::vector<std::string> policies) {
  Study study = test::small_study(test::small_dimensions(3, 4, 2), {test::cheap_environment()}, {12}, 31);
  study.regimes = {regime};
  study.periods = periods;
  study.replications = 1;
  study.actions = actions;
  study.order = false;
  study.policies = std::move(policies);
  return study;
}

// The laws of the boxes in regime A, where they are the same in every period.
FiniteProblem problem_of(const Study& study, const Replication& replication) {
  const ShockSample sample = draw_shock_sample(replication.instance, study.oracle.samples);
  const IndexInputs inputs = index_inputs(replication.instance, sample, replication.tape.contexts);
  const ProjectedLaw law = compressed_law(sample.projected, 64);
  FiniteProblem out;
  out.uninspected = study.actions.uninspected;
  if (study.actions.has_outside()) out.outside = study.actions.outside;
  for (int a = 0; a < replication.tape.boxes(); ++a) {
    FiniteBox& box = out.boxes.emplace_back();
    const std::size_t at = replication.tape.at(replication.tape.online_row(0), a);
    box.cost = inputs.cost[at];
    box.openings = study.actions.openings;
    for (const double w : law.points) {
      box.values.push_back(1.0 / (1.0 + std::exp(-inputs.shift[at] - inputs.scale[at] * w)));
      box.probabilities.push_back(1.0 / 64.0);
    }
  }
  return out;
}

class Benchmark : public testing::TestWithParam<Actions> {};
INSTANTIATE_TEST_SUITE_P(Actions, Benchmark,
                         testing::Values(Actions{.openings = 3}, Actions{.outside = 0.55}, Actions{.uninspected = true},
                                         Actions{.openings = 2, .uninspected = true},
                                         Actions{.openings = 2, .uninspected = true, .outside = 0.5}),
                         name_of);

TEST_P(Benchmark, BringsWhatTheProgrammeSays) {
  Study study = study_of(GetParam(), Regime::A, 20000, {"oracle"});
  study.oracle.samples = 200000;
  const Plan plan = make_plan(study);
  const Replication replication = prepare_replication(study, plan, plan.units[0], nullptr, nullptr);
  const LaneTally tally = run_one_lane(study, replication, plan.lanes[0].variant.lane(replication, 12), nullptr);
  const double T = study.periods, mean = tally.utility / T,
               of_periods = std::sqrt((tally.utility_squares / T - mean * mean) / T),
               of_law = 0.25 / std::sqrt(study.oracle.samples);  // mu* has a standard deviation below 0.25
  const double wanted = solve_exactly(problem_of(study, replication)).value;
  EXPECT_NEAR(mean, wanted, 3.0 * std::hypot(of_periods, of_law));
  EXPECT_EQ(tally.failure, Failure::none);
}

TEST_P(Benchmark, LosesNothingAgainstItself) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Study study = study_of(GetParam(), regime, 300, {"oracle"});
    const Plan plan = make_plan(study);
    const UnitResult result = run_sweep(study, plan, SweepOptions{})[0];
    EXPECT_EQ(result.lanes[0].regret, RegretParts{});
  }
}

TEST(CommitOrSearch, HasFourFifthsOfTheOptimum) {
  const Study study = study_of({.uninspected = true}, Regime::B, 3000, {"oracle", "commit_or_search", "hindsight"});
  const Plan plan = make_plan(study);
  const UnitResult result = run_sweep(study, plan, SweepOptions{})[0];
  ASSERT_EQ(plan.lanes[2].policy->name, "commit_or_search");
  EXPECT_GE(result.lanes[2].utility, 0.8 * result.lanes[0].utility);
  EXPECT_LE(result.lanes[2].utility, result.lanes[0].utility + 1e-9 * study.periods + 3.0);
  EXPECT_GT(result.lanes[1].utility, result.lanes[0].utility);  // hindsight is a bound
}

TEST(FinitePolicy, IsTheProgrammesAndLinearBetweenItsValues) {
  FiniteProblem problem;
  problem.boxes = {{0.05, {0.2, 0.9}, {0.5, 0.5}}, {0.02, {0.4, 0.6}, {0.5, 0.5}}};
  problem.uninspected = true;
  const FinitePolicy policy(problem);
  for (const FiniteState& state : solve_exactly(problem).states) {
    const FiniteChoice choice = policy.at(state.opened, state.best);
    EXPECT_EQ(choice.action, state.action);
    EXPECT_EQ(choice.box, state.box);
    EXPECT_NEAR(choice.value, state.value, 1e-15);
  }
  // With both boxes open only deploying is left; with the second open, what opening the first brings at b is
  // -0.05 + (max(b, 0.2) + max(b, 0.9)) / 2.
  EXPECT_EQ(policy.at({1, 1}, 0.5).value, 0.5);
  EXPECT_NEAR(policy.at({0, 1}, 0.5).value, std::max(0.55, -0.05 + 0.5 * 0.5 + 0.5 * 0.9), 1e-12);
  EXPECT_NEAR(policy.at({0, 1}, 0.75).value, std::max(0.75, -0.05 + 0.5 * 0.75 + 0.5 * 0.9), 1e-12);
}

TEST(PlayArms, NamesOpeningsInTheListAndPutsTheOutsideOptionFirst) {
  LaneSpec spec;
  spec.order = Order::listed;
  spec.stop = Stop::last_reaches_threshold;
  spec.length = 3;
  spec.list[0] = 2, spec.list[1] = 0, spec.list[2] = 2;
  spec.threshold[0] = 0.7, spec.threshold[1] = 0.6;
  play_arms(spec, {.openings = 2, .outside = 0.3}, 3);
  ASSERT_EQ(spec.length, 4);
  EXPECT_EQ(std::vector(spec.list, spec.list + 4), (std::vector{6, 4, 0, 5}));
  EXPECT_EQ(std::vector(spec.threshold, spec.threshold + 3), (std::vector{kInfinity, 0.7, 0.6}));
}

// 200 random problems with random actions; in each, every policy against the benchmark, and bounds against it.
TEST(BenchmarkSlow, NoPolicyBeatsIt) {
  test::Random random(5);
  std::vector<double> p;
  std::vector<std::string> pairs;
  for (int k = 0; k < 200; ++k) {
    const Actions actions{random.below(3) == 0 ? 2 : 1, random.below(2) == 0,
                          random.below(2) == 0 ? random.uniform(0.3, 0.7) : kNoOutside};
    Study study = study_of(actions, random.below(2) == 0 ? Regime::A : Regime::B, 120, {});
    study.policies = {"oracle", "dow", "shrunk_weitzman", "linucb_online", "frugalgpt", "best_single", "query_all"};
    if (actions.uninspected)
      study.policies.insert(study.policies.end(), {"commit_or_search", "linucb_router", "plugin_programme"});
    study.dimensions.boxes = 2 + random.below(2);
    study.environments[0].cost_level = random.uniform(0.05, 0.5);
    study.hyperparameters = {0.1};
    study.replications = 12;
    study.seed = static_cast<std::uint64_t>(k);
    study.estimation.refit = parse_refit("geometric:1.5");
    const Plan plan = make_plan(study);
    const std::vector<UnitResult> results = run_sweep(study, plan, SweepOptions{});
    for (std::size_t lane = 1; lane < plan.lanes.size(); ++lane) {
      std::vector<double> regret;
      for (const UnitResult& unit : results) regret.push_back(unit.lanes[0].utility - unit.lanes[lane].utility);
      const MeanWithError mean = mean_with_error(regret);
      if (!(mean.error > 0.0)) continue;  // the same decisions
      const double t = mean.mean / mean.error;
      p.push_back(t >= 0.0 ? 1.0 : 0.5 * paired_difference(regret, std::vector<double>(regret.size(), 0.0)).p);
      pairs.push_back(lane_name(plan.lanes[lane]) + " in study " + std::to_string(k));
    }
  }
  ASSERT_GT(p.size(), 1000u);
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t k = 0; k < adjusted.size(); ++k) EXPECT_GE(adjusted[k], 0.01) << pairs[k];
}

}  // namespace
}  // namespace pandora
