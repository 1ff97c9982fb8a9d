// Environments with finite laws: the benchmark brings what the programme says, policies learn, and a plain loop plays
// the policy after Liu et al.
#include "host/lanes/model/finite_world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/study/finite_problem.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "oracle/exact_programme.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

const std::string kThreeBoxes = R"(
[[box]]
cost = 0.10
values = [0.0, 1.0]
probabilities = [0.5, 0.5]
[[box]]
cost = 0.05
values = [0.2, 0.8]
probabilities = [0.3, 0.7]
[[box]]
cost = 0.15
values = [0.1, 0.6, 0.9]
probabilities = [0.2, 0.4, 0.4]
openings = 2
[actions]
uninspected = true
)";

class FiniteWorldTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(base_ / "laws.toml") << kThreeBoxes;
  }
  StudyConfig config(const std::string& top, const std::string& keys = "") const {
    return StudyConfig::parse(fmt::format("environments = [\"game\"]\nT0 = [0]\n{}\n[environment.game]\nlaws = "
                                          "\"laws.toml\"\n{}\n",
                                          top, keys),
                              (base_ / "study.toml").string());
  }
  PlannedSetting planned(const std::string& top, const std::string& keys = "") const {
    return make_plans(config(top, keys))[0];
  }
  static std::vector<UnitResult> results(const PlannedSetting& planned) {
    return run_sweep(planned.setting.study, planned.plan, {});
  }
  void expect_refused(const std::vector<std::string>& what, const std::string& top,
                      const std::string& keys = "") const {
    try {
      (void)planned(top, keys);
      FAIL() << "not refused: " << what[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      for (const std::string& one : what) EXPECT_THAT(error.what(), testing::HasSubstr(one));
    }
  }
};

TEST_F(FiniteWorldTest, TheBenchmarkBringsWhatTheProgrammeSays) {
  for (const auto& [text, actions] : {std::pair("", Actions{}),
                                      {"actions.openings = 2", {.openings = 2}},
                                      {"actions.outside = 0.7", {.outside = 0.7}},
                                      {"actions.uninspected = true", {.uninspected = true}},
                                      {"actions = { openings = 2, uninspected = true, outside = 0.7 }",
                                       {.openings = 2, .uninspected = true, .outside = 0.7}}}) {
    const PlannedSetting p =
        planned(fmt::format("replications = 20\nperiods = 2000\npolicies = [\"query_all\"]\n{}", text));
    FiniteProblem problem = read_finite_problem((base_ / "laws.toml").string());
    for (FiniteBox& box : problem.boxes) box.openings = actions.openings;
    problem.uninspected = actions.uninspected;
    problem.outside = actions.has_outside() ? std::optional(actions.outside) : std::nullopt;
    std::vector<double> utilities, regrets;
    for (const UnitResult& unit : results(p)) {
      ASSERT_EQ(unit.lanes[0].periods, 2000);
      utilities.push_back(unit.lanes[0].utility / 2000.0);
      regrets.push_back((unit.lanes[0].utility - unit.lanes[1].utility) / 2000.0);
      EXPECT_EQ(unit.lanes[0].regret, RegretParts{});
    }
    const MeanWithError found = mean_with_error(utilities), regret = mean_with_error(regrets);
    EXPECT_NEAR(found.mean, solve_exactly(problem).value, 3.0 * found.error) << text;
    EXPECT_GT(regret.mean, 3.0 * regret.error) << text;  // opening everything is worse
  }
}

// A certain 0.5, and a coin that costs 0.1. With an outside option of 0.45 the coin is better: 0.725 - 0.1.
TEST_F(FiniteWorldTest, YardsticksCountTheOutsideOption) {
  std::ofstream(base_ / "laws.toml") << R"(
[[box]]
cost = 0.0
values = [0.5]
probabilities = [1.0]
[[box]]
cost = 0.1
values = [0.0, 1.0]
probabilities = [0.5, 0.5]
)";
  for (const auto& [actions, best] : {std::pair("", 0.5), {"actions.outside = 0.45", 0.625}}) {
    const PlannedSetting p = planned(
        fmt::format("replications = 1\nperiods = 4000\npolicies = [\"best_single\", \"best_of_n\"]\n{}", actions));
    const UnitResult unit = results(p)[0];
    for (const std::size_t lane : {1u, 2u})  // behind the benchmark
      EXPECT_NEAR(unit.lanes[lane].utility / 4000.0, best, 3.0 * 0.275 / std::sqrt(4000.0)) << actions << lane;
  }
}

TEST_F(FiniteWorldTest, EveryOpeningIsAFreshDraw) {
  const PlannedSetting p =
      planned("periods = 20000\nreplications = 1\nactions.openings = 2", "feedback = \"bernoulli\"");
  const Tape tape = prepare_replication(p.setting.study, p.plan, p.plan.units[0], nullptr).tape;
  const int T = 20000;
  double pairs = 0.0, rewards = 0.0;
  std::map<double, int> times[2];
  for (int t = 0; t < T; ++t) {
    const std::size_t at = tape.at(tape.online_row(t), 2), again = tape.at(tape.online_row(t) + T, 2);
    ++times[0][tape.mu[at]];
    ++times[1][tape.mu[again]];
    EXPECT_EQ(tape.cost[at], 0.15);
    pairs += tape.mu[at] == 0.9 && tape.mu[again] == 0.9 && tape.mu[at - 1] == 0.8 ? 1 : 0;
    rewards += tape.reward[at];
  }
  const auto expect_share = [&](double count, double share) {
    EXPECT_NEAR(count / T, share, 3.0 * std::sqrt(share * (1.0 - share) / T));
  };
  for (const auto& of : times) {
    ASSERT_EQ(of.size(), 3u);
    expect_share(of.at(0.1), 0.2);
    expect_share(of.at(0.6), 0.4);
    expect_share(of.at(0.9), 0.4);
  }
  expect_share(pairs, 0.4 * 0.4 * 0.7);
  expect_share(rewards, 0.2 * 0.1 + 0.4 * 0.6 + 0.4 * 0.9);
}

// The index of the empirical law of the values whose distribution function F becomes max(0, F - sqrt(2 F (1 - F) L / m)
// - L / m) below 1, from the integral of the tail between the values.
double optimistic_index(std::vector<double> values, double cost, double L) {
  std::sort(values.begin(), values.end());
  const double m = static_cast<double>(values.size());
  const auto excess = [&](double sigma) {
    double sum = std::max(0.0, values[0] - sigma);  // below the least value the tail is 1
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double F = static_cast<double>(k + 1) / m, next = k + 1 < values.size() ? values[k + 1] : 1.0;
      const double tail = 1.0 - std::max(0.0, F - std::sqrt(2.0 * F * (1.0 - F) * L / m) - L / m);
      sum += tail * std::max(0.0, next - std::max(values[k], sigma));
    }
    return sum;
  };
  double low = -1.0, high = 1.0;
  for (int k = 0; k < 100; ++k) {
    const double middle = 0.5 * (low + high);
    (excess(middle) > cost ? low : high) = middle;
  }
  return low;
}

TEST_F(FiniteWorldTest, APlainLoopPlaysThePolicyAfterLiuEtAl) {
  for (const double c : {0.1, 1.0}) {
    const PlannedSetting p = planned(fmt::format(
        "replications = 1\nperiods = 300\npolicies = [\"liu\"]\nestimation.refit = \"every_period\"\nhyperparameters.c_liu "
        "= [{}]",
        c));
    const Tape tape = prepare_replication(p.setting.study, p.plan, p.plan.units[0], nullptr).tape;
    std::vector<double> seen[3];
    for (int a = 0; a < 3; ++a) seen[a].push_back(tape.mu[tape.at(0, a)]);
    double utility = 0.0;
    for (int t = 1; t <= 300; ++t) {
      double sigma[3], best = -1.0, spent = 0.0;
      bool open[3] = {};
      for (int a = 0; a < 3; ++a)
        sigma[a] = optimistic_index(seen[a], tape.cost[tape.at(0, a)], c * c * std::log1p(std::max(1, t - 1)));
      for (;;) {
        int next = -1;
        for (int a = 0; a < 3; ++a)
          if (!open[a] && (next < 0 || sigma[a] > sigma[next])) next = a;
        if (next < 0 || best >= sigma[next]) break;
        open[next] = true;
        const std::size_t at = tape.at(tape.online_row(t - 1), next);
        seen[next].push_back(tape.mu[at]);
        best = std::max(best, tape.mu[at]);
        spent += tape.cost[at];
      }
      utility += best - spent;
    }
    const UnitResult result = results(p)[0];
    EXPECT_NEAR(result.lanes[1].utility, utility, 1e-9) << c;
    EXPECT_GT(result.lanes[0].utility, 0.0);
  }
}

TEST_F(FiniteWorldTest, PoliciesLearnTheLaws) {
  const std::string study =
      "replications = 20\npolicies = [\"dow\", \"liu\"]\nhyperparameters = { c_liu = [1], c_rho = [1], c_theta = "
      "[0.1] }\nestimation.refit = \"geometric:1.2\"\nperiods = ";
  const std::vector<UnitResult> early = results(planned(study + "250")), late = results(planned(study + "4000"));
  const Plan plan = planned(study + "250").plan;
  for (std::size_t lane = 1; lane < plan.lanes.size(); ++lane) {
    std::vector<double> first, then;
    for (std::size_t r = 0; r < early.size(); ++r) {
      const double lost = early[r].lanes[0].utility - early[r].lanes[lane].utility;
      first.push_back(lost / 250.0);
      then.push_back((late[r].lanes[0].utility - late[r].lanes[lane].utility - lost) / 3750.0);
    }
    const MeanWithError before = mean_with_error(first), after = mean_with_error(then);
    EXPECT_LT(after.mean + 3.0 * std::hypot(before.error, after.error), before.mean) << lane_name(plan.lanes[lane]);
  }
}

// The text that a run stores gives the same laws; the file's openings and actions are not part of it.
TEST_F(FiniteWorldTest, StoredLawsNeedNoFile) {
  StudyConfig own = config("periods = 50");
  fill_in_tables(own);
  std::filesystem::remove(base_ / "laws.toml");
  const Environment environment = StudyConfig::parse(own.toml(), "again.toml").settings()[0].study.environments[0];
  const FiniteProblem& laws = *laws_of(environment);
  ASSERT_EQ(laws.boxes.size(), 3u);
  EXPECT_EQ(laws.boxes[2], (FiniteBox{0.15, {0.1, 0.6, 0.9}, {0.2, 0.4, 0.4}, 1}));
  EXPECT_FALSE(laws.uninspected);
  EXPECT_THROW((void)config("periods = 50"), Error);
}

TEST_F(FiniteWorldTest, WhatLawsCannotHaveIsRefused) {
  expect_refused({"price = 1", "is for a table of outcomes", "environment.game.laws has none", "leave one out"}, "",
                 "price = 1");
  expect_refused({"u = 0.2", "is for the paper's model"}, "", "u = 0.2");
  expect_refused({"environment.game.feedback", "needs a table", "bernoulli"}, "", "feedback = \"column:x\"");
  expect_refused({"environment game: [actions]", "9 openings", "6 are the most"},
                 "actions = { openings = 3, uninspected = true }");
  expect_refused({"environment game: [actions]", "18 things to open"}, "actions.openings = 6");
  expect_refused({"budget.queries", "needs the paper's model"}, "budget.queries = 1.5");
  std::ofstream(base_ / "laws.toml") << "[[box]]\ncost = 0.1\nvalues = [0.0, 2.0]\nprobabilities = [0.5, 0.5]\n";
  expect_refused({"environment game", "laws.toml", "box 1: value 2 is not from 0 to 1", "scale"}, "");
}

}  // namespace
}  // namespace pandora
