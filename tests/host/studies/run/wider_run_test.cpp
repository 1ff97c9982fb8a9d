// Studies with [actions]: the same bytes however they are run, neutral values change nothing, and what is recorded is
// what happened.
#include <nlohmann/json.hpp>

#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

const Words kWider = {"--set", "actions.openings=2",      "--set", "actions.outside=0.45",
                      "--set", "actions.uninspected=true"};

class WiderRun : public test::RunStudyTest {
 protected:
  void SetUp() override {
    RunStudyTest::SetUp();
    write("study.toml", test::kStudy + "[output]\ndecisions = true\n");
  }
  static Words small(const Words& more = {}) {
    return joined(joined(test::kFewSolves, {"--set", "dimensions.context=4", "--environment", "uniform"}), kWider,
                  more);
  }
  // Expects the same tables from both engines, without failed lanes in the environment.
  void expect_engines_agree(const Words& study, const std::string& environment) {
    ASSERT_EQ(run(words("blocked", study, {"--force", "--set", "engine.precision=double"})).exit_code, 0);
    ASSERT_EQ(run(words("plain", study, {"--force", "--set", "engine.kind=reference"})).exit_code, 0);
    for (const std::string name : {"/boxes.csv", "/depth.csv"}) EXPECT_EQ(text("blocked" + name), text("plain" + name));
    EXPECT_THAT(text("blocked/failures.csv"), Not(HasSubstr(environment)));
  }
  // Shows the reference's folder.
  std::string shown() {
    const test::ProgramResult result = run({"show", "reference"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
};

TEST_F(WiderRun, NeutralActionsChangeNoByte) {
  const Words few = {"--environment", "uniform", "--replications", "2"};
  ASSERT_EQ(run(words("plain", few)).exit_code, 0);
  ASSERT_EQ(run(words("neutral", few, {"--set", "actions.openings=1", "--set", "actions.outside=-inf"})).exit_code, 0);
  expect_same(work() / "neutral", work() / "plain");
}

TEST_F(WiderRun, ShardsResumedAndExtendedRunsGiveTheBytesOfOne) {
  expect_same_however_run(small());
  EXPECT_FALSE(fs::exists(work() / "shard0/decisions"));  // they are made of all parts
}

TEST_F(WiderRun, SoDoThoseWithTiedBoxes) {
  expect_same_however_run(joined(test::kFewSolves, {"--set", "dimensions.context=4", "--environment", "uniform"},
                                 {"--set", "model.ties=[[1,3],[2]]", "--policy", "dow,tied_weitzman"}));
}

// A table with three answers of two models to 25 prompts, and a study that opens each of them up to three times.
class WiderTable : public WiderRun {
 protected:
  void SetUp() override {
    WiderRun::SetUp();
    std::string table;
    for (int row = 0; row < 75; ++row)
      table += "{\"prompt\": \"question " + std::to_string(row / 3) + "\", \"models\": {\"a\": {\"quality\": 0." +
               std::to_string(row * 37 % 97 + 100) + ", \"cost\": 0.002}, \"b\": {\"quality\": 0." +
               std::to_string(row * 53 % 89 + 300) + ", \"cost\": 0.00" + std::to_string(1 + row % 4) + "}}}\n";
    write("table.jsonl", table);
    write("study.toml", R"(environments = ["mine"]
replications = 4
T0 = [0, 7]
policies = ["dow", "shrunk_weitzman", "linucb_online", "frugalgpt", "hindsight", "best_of_n", "random_order"]
hyperparameters.c_rho = [0.1]
hyperparameters.c_theta = [0.1]
[actions]
openings = 3
outside = 0.4
[environment.mine]
table = "table.jsonl"
context = ["text:2"]
price = 20
repeats = true
[output]
decisions = true
)");
  }
};

TEST_F(WiderTable, ShardsResumedAndExtendedRunsGiveTheBytesOfOne) {
  expect_same_however_run({});
  fs::remove(work() / "table.jsonl");
  EXPECT_THAT(shown(), testing::ContainsRegex("over 1[0-9] prompts in 4 orders"));
}

// With one opening every row is a period, but the rows of a prompt are one draw.
TEST_F(WiderTable, OneOpeningHasIntervalsOverPromptsToo) {
  expect_same_however_run({"--set", "actions.openings=1"});
  fs::remove(work() / "table.jsonl");
  EXPECT_THAT(shown(), testing::ContainsRegex("over [345][0-9] rows of 1[0-9] prompts"));
}

TEST_F(WiderTable, EnginesMakeTheSameTables) {
  expect_engines_agree({}, "mine");
}

// Settings may open more or less often; a setting with one opening takes every answer for a period.
TEST_F(WiderTable, TheNumberOfOpeningsMayVary) {
  write("study.toml", text("study.toml") + "[vary]\nactions.openings = [1, 2, 3]\n");
  const Words fewer = {"--policy", "dow,best_of_n"};
  ASSERT_EQ(run(words("whole", fewer)).exit_code, 0) << test::read_file(base_ / "err");
  ASSERT_EQ(run(words("grown", fewer, {"--replications", "3"})).exit_code, 0);
  ASSERT_EQ(run(words("grown", fewer, {"--extend"})).exit_code, 0);
  expect_same(work() / "grown", work() / "whole");
}

// Boxes with finite laws, with every action.
class FiniteLaws : public WiderRun {
 protected:
  void SetUp() override {
    WiderRun::SetUp();
    write("laws.toml", R"([[box]]
cost = 0.1
values = [0.0, 1.0]
probabilities = [0.3, 0.7]
[[box]]
cost = 0.05
values = [0.2, 0.55, 0.8]
probabilities = [0.3, 0.3, 0.4]
)");
    write("study.toml", R"(environments = ["game"]
replications = 4
periods = 60
T0 = [0, 7]
policies = ["dow", "liu", "shrunk_weitzman", "linucb_router", "commit_or_search", "plugin_programme", "frugalgpt"]
hyperparameters.c_rho = [0.1]
hyperparameters.c_theta = [0.1]
[environment.game]
laws = "laws.toml"
[output]
decisions = true
)");
  }
};

TEST_F(FiniteLaws, ShardsResumedAndExtendedRunsGiveTheBytesOfOne) {
  expect_same_however_run(kWider);
  fs::remove(work() / "laws.toml");
  EXPECT_THAT(shown(), AllOf(HasSubstr("game: utility = value - costs per period, over 60 periods in 4 replications"),
                             HasSubstr("Benchmark: the laws are known"), HasSubstr("cost x 1000")));
  EXPECT_EQ(run({"compare", "reference", "--policy", "dow,liu"}).exit_code, 0);
}

TEST_F(FiniteLaws, OtherLawsAreAnotherStudy) {
  ASSERT_EQ(run(words("out", {"--policy", "dow"})).exit_code, 0) << test::read_file(base_ / "err");
  const auto explained = run({"explain", "out", "--policy", "dow", "--t0", "7", "--period", "5"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  ASSERT_EQ(run({"report", "out"}).exit_code, 0) << test::read_file(base_ / "err");
  EXPECT_EQ(run(words("out", {"--policy", "dow", "--resume"})).exit_code, 0);
  write("laws.toml", "[[box]]\ncost = 0.1\nvalues = [0.5]\nprobabilities = [1]\n");
  const auto other = run(words("out", {"--policy", "dow", "--resume"}));
  EXPECT_EQ(other.exit_code, 5) << other.err;
  EXPECT_THAT(other.err, HasSubstr("laws"));
}

TEST_F(FiniteLaws, EnginesMakeTheSameTables) {
  // The first policies are those that can be played without wider actions.
  for (const Words& study : {Words{"--policy", "dow,liu,shrunk_weitzman,frugalgpt"}, kWider})
    expect_engines_agree(study, "game");
}

// Both engines, and code, which opens each box once.
TEST_F(WiderRun, EnginesMakeTheSameTables) {
  const char* const policies = "dow,linucb_router,commit_or_search,plugin_programme,frugalgpt,hindsight,best_of_n";
  expect_engines_agree(small({"--policy", policies}), "uniform");
}

TEST_F(WiderRun, DecisionsAreThoseThatTheSumsCount) {
  ASSERT_EQ(run(words("out", small({"--policy", "dow,linucb_router,hindsight"}))).exit_code, 0);
  const fs::path file = work() / "out/decisions/000-uniform-A-00001.h5";
  std::vector<hsize_t> shape, of_lane;
  const std::vector<double> order = test::dataset(file, "/order", shape), cost = test::dataset(file, "/cost", of_lane);
  ASSERT_EQ(shape[1], 40u);
  ASSERT_EQ(shape[2], 7u);  // three boxes, two openings each, and what is deployed unopened
  int again = 0, unopened = 0, outside = 0;
  for (std::size_t at = 0; at < order.size(); at += 7) {
    int deployed = 0, of[3] = {};
    for (std::size_t k = at; k < at + 7 && order[k] != 255; ++k) {
      const int entry = static_cast<int>(order[k]);
      deployed += entry / 16 % 2;
      if (entry < 32) again += ++of[entry % 16] == 2 ? 1 : 0;
      if (entry >= 32) (entry % 16 == 3 ? outside : unopened) += 1;
    }
    EXPECT_EQ(deployed, 1);
    if (order[at] == 255 || order[at] >= 32) {
      EXPECT_EQ(cost[at / 7], 0.0);
    }
  }
  EXPECT_GT(again, 0);
  EXPECT_GT(unopened, 0);
  EXPECT_GT(outside, 0);
}

TEST_F(WiderRun, WhatNeedsUnopenedDeploymentsSaysSo) {
  const auto refused = [this](const char* policy, const char* why) {
    expect_refusal(words(policy, {"--policy", policy, "--environment", "uniform"}), 2, {why});
  };
  refused("linucb_router", "policy linucb_router: it deploys boxes unopened; set actions.uninspected = true");
  refused("tied_weitzman", "policy tied_weitzman: it ties slopes of boxes; say which by model.ties");
  const Words explained = {"explain", "wide", "--lane", "uniform/A/1/-/oracle/known", "--period", "1"};
  ASSERT_EQ(run(words("wide", small())).exit_code, 0);
  EXPECT_THAT(run(explained).err, HasSubstr("output.decisions"));
}

}  // namespace
}  // namespace pandora
