// Tables of outcomes as environments, and the rows that a replication takes from them.
#include "host/lanes/model/trace_world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <tuple>

#include "host/outcomes/tables/features.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

// A table of 60 prompts x 2 models, in which each quality and cost belongs to one prompt and model.
double quality_of(int prompt, int model) {
  return (prompt + 0.5 * model) / 100.0;
}
double dollars_of(int prompt, int model) {
  return 1e-4 * (1 + prompt % 7) * (model + 1);
}

class TraceWorldTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::string text = "prompt_id,model,quality,cost,score,kind,length_of\n";
    for (int prompt = 0; prompt < 60; ++prompt)
      for (int model = 0; model < 2; ++model)
        text +=
            fmt::format("p{},m{},{},{},{},{},{}\n", prompt, model, quality_of(prompt, model), dollars_of(prompt, model),
                        1.0 - quality_of(prompt, model), prompt % 3 == 0 ? "calibration" : "online", prompt);
    write("table.csv", text);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(base_ / name) << text; }

  StudyConfig config(const std::string& keys, const std::string& top = "") const {
    return StudyConfig::parse(
        fmt::format("environments = [\"mine\"]\nreplications = 2\nT0 = [3]\npolicies = [\"dow\"]\n{}\n"
                    "[environment.mine]\ntable = \"table.csv\"\nprice = 20\n{}\n",
                    top, keys),
        (base_ / "study.toml").string());
  }
  static PlannedSetting planned(const StudyConfig& config) { return make_plans(config)[0]; }
  static Replication drawn(const PlannedSetting& planned, std::size_t unit = 0) {
    return prepare_replication(planned.setting.study, planned.plan, planned.plan.units[unit], nullptr);
  }
  static int prompt_of(const Tape& tape, int row) {
    return static_cast<int>(std::lround(100.0 * tape.mu[tape.at(row, 0)]));
  }
  template <class Body>
  static void expect_refused(ExitCode code, const std::string& what, Body&& body) {
    try {
      body();
      FAIL() << "not refused: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  }
};

TEST_F(TraceWorldTest, SizesAreTheTables) {
  const PlannedSetting p = planned(config("part = \"kind\"\ncontext = [\"length_of\"]"));
  const Study& study = p.setting.study;
  EXPECT_EQ(study.dimensions.boxes, 2);
  EXPECT_EQ(study.dimensions.context, 1);
  EXPECT_EQ(study.dimensions.reward_features, 4);
  EXPECT_EQ(study.periods, 40);
  EXPECT_FALSE(study.order);
  EXPECT_EQ(study.regimes, std::vector<Regime>{Regime::B});
}

TEST_F(TraceWorldTest, PermutesEveryPromptOnceAnewInEveryReplication) {
  const PlannedSetting p = planned(config("part = \"kind\""));
  const Replication first = drawn(p), second = drawn(p, 1);
  const Tape& tape = first.tape;
  ASSERT_EQ(tape.online_rows, 40);
  ASSERT_EQ(tape.calibration_rows, 3);
  std::vector<int> orders[2];
  std::set<int> calibration, online;
  for (int row = 0; row < 4; ++row) calibration.insert(prompt_of(tape, row));
  EXPECT_EQ(calibration.size(), 4u);  // x_0 is one more prompt
  for (const int prompt : calibration) EXPECT_EQ(prompt % 3, 0);
  for (int t = 0; t < 40; ++t) {
    orders[0].push_back(prompt_of(tape, tape.online_row(t)));
    orders[1].push_back(prompt_of(second.tape, tape.online_row(t)));
    online.insert(orders[0].back());
    EXPECT_NE(orders[0].back() % 3, 0);
  }
  EXPECT_EQ(online.size(), 40u);
  EXPECT_NE(orders[0], orders[1]);
  const auto world = TraceWorld::of(*trace_keys(p.plan.units[0].environment), "mine");
  UnitResult kept;
  keep_prompts(p.setting.study, p.plan, p.plan.units[0], kept);
  for (int t = 0; t < 40; ++t)
    EXPECT_FLOAT_EQ(kept.table->quality[kept.prompts[t] * 2], static_cast<float>(orders[0][t] / 100.0));
  EXPECT_EQ(kept.table, world->outcomes());
}

TEST_F(TraceWorldTest, CostsArePriceTimesDollarsAndGradedFeedbackIsTheQuality) {
  const Tape tape = drawn(planned(config("part = \"kind\""))).tape;
  for (int row = 0; row < tape.contexts.rows; ++row)
    for (int a = 0; a < 2; ++a) {
      const int prompt = prompt_of(tape, row);
      EXPECT_DOUBLE_EQ(tape.cost[tape.at(row, a)], 20.0 * dollars_of(prompt, a));
      EXPECT_FLOAT_EQ(tape.reward[tape.at(row, a)], static_cast<float>(quality_of(prompt, a)));
      EXPECT_FLOAT_EQ(tape.phi_of(row, a)[2 * a], 1.0f);
      EXPECT_FLOAT_EQ(tape.phi_of(row, a)[2 * a + 1], static_cast<float>(logit_of_score(quality_of(prompt, a))));
      EXPECT_EQ(tape.phi_of(row, a)[2 * (1 - a)], 0.0f);
      EXPECT_EQ(tape.phi_of(row, a)[2 * (1 - a) + 1], 0.0f);
    }
}

TEST_F(TraceWorldTest, AnEvaluatorShowsItsScore) {
  const Tape tape = drawn(planned(config("part = \"kind\"\nevaluator = \"score\""))).tape;
  const int prompt = prompt_of(tape, 5);
  EXPECT_FLOAT_EQ(tape.phi_of(5, 1)[3], static_cast<float>(logit_of_score(1.0 - quality_of(prompt, 1))));
  EXPECT_DOUBLE_EQ(tape.mu[tape.at(5, 1)], quality_of(prompt, 1));
}

TEST_F(TraceWorldTest, BernoulliFeedbackHasTheQualityAsItsMean) {
  const PlannedSetting p =
      planned(config("part = \"kind\"\nfeedback = \"bernoulli\"\nrepeat = true", "periods = 8000"));
  const Tape tape = drawn(p).tape;
  ASSERT_EQ(tape.online_rows, 8000);
  double excess = 0.0, variance = 0.0;
  for (int t = 0; t < 8000; ++t) {
    const std::size_t at = tape.at(tape.online_row(t), 1);
    EXPECT_TRUE(tape.reward[at] == 0.0f || tape.reward[at] == 1.0f);
    excess += tape.reward[at] - tape.mu[at];
    variance += tape.mu[at] * (1.0 - tape.mu[at]);
  }
  EXPECT_LT(std::abs(excess), 4.0 * std::sqrt(variance));
}

TEST_F(TraceWorldTest, ResampledInOrderAndWithReplacement) {
  const Tape in_order = drawn(planned(config("part = \"kind\"\nresample = \"in_order\""))).tape;
  EXPECT_EQ(prompt_of(in_order, 0), 0);
  EXPECT_EQ(prompt_of(in_order, 1), 3);
  EXPECT_EQ(prompt_of(in_order, in_order.online_row(0)), 1);
  EXPECT_EQ(prompt_of(in_order, in_order.online_row(1)), 2);
  const Tape bootstrap = drawn(planned(config("part = \"kind\"\nresample = \"bootstrap\""))).tape;
  std::set<int> seen;
  for (int t = 0; t < 40; ++t) seen.insert(prompt_of(bootstrap, bootstrap.online_row(t)));
  EXPECT_LT(seen.size(), 40u);
  EXPECT_GT(seen.size(), 15u);
}

// A model's answer in a row of the tape, without NaN, so that rows can be counted.
using Answer = std::tuple<double, double, float, float>;
Answer answer_of(const Tape& tape, int row, int a) {
  const std::size_t at = tape.at(row, a);
  return {tape.mu[at], tape.cost[at], tape.phi_of(row, a)[2 * a + 1], tape.reward[at]};
}
std::multiset<Answer> answers_of(const Tape& tape, int a, int first_row, int last_row) {
  std::multiset<Answer> out;
  for (int row = first_row; row < last_row; ++row) out.insert(answer_of(tape, row, a));
  return out;
}

// The correlation of the two models' qualities over these rows.
double correlation_of(const Tape& tape, int first_row, int last_row) {
  double n = last_row - first_row, x = 0.0, y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  for (int row = first_row; row < last_row; ++row) {
    const double a = tape.mu[tape.at(row, 0)], b = tape.mu[tape.at(row, 1)];
    x += a / n, y += b / n, xx += a * a / n, yy += b * b / n, xy += a * b / n;
  }
  return (xy - x * y) / std::sqrt((xx - x * x) * (yy - y * y));
}

// A model's quality, cost, score and feedback stay together. Each model has all of its answers, in the calibration (20
// rows with x_0) and online.
TEST_F(TraceWorldTest, IndependentModelsKeepTheirAnswers) {
  const std::string keys = "part = \"kind\"\nevaluator = \"score\"\nresample = ";
  StudyConfig control = config(keys + "\"independent\""), usual = config(keys + "\"permute\"");
  for (StudyConfig* each : {&control, &usual}) each->set("T0", "19", "test");
  const Tape tape = drawn(planned(control)).tape, permuted = drawn(planned(usual)).tape;
  ASSERT_EQ(tape.online_row(0), 20);
  ASSERT_EQ(tape.contexts.rows, 60);
  int apart = 0;
  for (int row = 0; row < 60; ++row) {
    EXPECT_EQ(answer_of(tape, row, 0), answer_of(permuted, row, 0));  // the first model has the order of permute
    for (int a = 0; a < 2; ++a) {
      const int prompt = static_cast<int>(std::lround(100.0 * tape.mu[tape.at(row, a)] - 0.5 * a));
      EXPECT_EQ(prompt % 3 == 0, row < 20);
      EXPECT_DOUBLE_EQ(tape.cost[tape.at(row, a)], 20.0 * dollars_of(prompt, a));
      EXPECT_FLOAT_EQ(tape.phi_of(row, a)[2 * a + 1], static_cast<float>(logit_of_score(1.0 - quality_of(prompt, a))));
    }
    apart += prompt_of(tape, row) != static_cast<int>(std::lround(100.0 * tape.mu[tape.at(row, 1)] - 0.5)) ? 1 : 0;
  }
  EXPECT_GT(apart, 45);
  for (int a = 0; a < 2; ++a)
    for (const auto& [first, last] : {std::pair{0, 20}, {20, 60}})
      EXPECT_EQ(answers_of(tape, a, first, last), answers_of(permuted, a, first, last));
}

TEST_F(TraceWorldTest, IndependentModelsAreNotCorrelated) {
  const StudyConfig control = config("part = \"kind\"\nresample = \"independent\"", "seed = 5");
  StudyConfig many = control;
  many.set("T0", "19", "test");
  many.set("replications", "200", "test");
  const PlannedSetting p = planned(many);
  double calibration = 0.0, online = 0.0;
  for (std::size_t r = 0; r < 200; ++r) {
    const Tape tape = drawn(p, r).tape;
    calibration += correlation_of(tape, 0, 20) / 200.0;
    online += correlation_of(tape, 20, 60) / 200.0;
  }
  // The correlation of two random orders of n rows has mean 0 and variance 1 / (n - 1).
  EXPECT_LT(std::abs(calibration), 3.0 / std::sqrt(19.0 * 200.0));
  EXPECT_LT(std::abs(online), 3.0 / std::sqrt(39.0 * 200.0));
  const Tape permuted = drawn(planned(config("part = \"kind\""))).tape;
  EXPECT_NEAR(correlation_of(permuted, permuted.online_row(0), permuted.contexts.rows), 1.0, 1e-9);
}

TEST_F(TraceWorldTest, IndependentModelsHaveNoPrompts) {
  expect_refused(ExitCode::usage, "takes every model's answer from another prompt; leave out environment.mine.context",
                 [&] { (void)planned(config("resample = \"independent\"\ncontext = [\"length_of\"]")); });
  const PlannedSetting p = planned(config("part = \"kind\"\nresample = \"independent\"\ndrift = \"m1:0.5\""));
  UnitResult kept;
  keep_prompts(p.setting.study, p.plan, p.plan.units[0], kept);
  EXPECT_EQ(kept.table, nullptr);
  EXPECT_TRUE(kept.prompts.empty());
  const Tape tape = drawn(p).tape;  // in the second half the model drifts
  std::multiset<double> before, after;
  for (int t = 0; t < 80; ++t)
    (t < 40 ? before : after).insert((t < 40 ? 0.5 : 1.0) * tape.mu[tape.at(tape.online_row(t), 1)]);
  EXPECT_EQ(before, after);
}

TEST_F(TraceWorldTest, DriftBringsEveryPromptAgainWithTheModelsQualityTimesAFactor) {
  const PlannedSetting p = planned(config("part = \"kind\"\ndrift = \"m1:0.5\"\nevaluator = \"score\""));
  const Tape tape = drawn(p).tape;
  ASSERT_EQ(tape.online_rows, 80);
  std::multiset<int> before, after;
  for (int t = 0; t < 80; ++t) {
    const int row = tape.online_row(t), prompt = prompt_of(tape, row);
    (t < 40 ? before : after).insert(prompt);
    const double factor = t < 40 ? 1.0 : 0.5;
    EXPECT_DOUBLE_EQ(tape.mu[tape.at(row, 1)], factor * quality_of(prompt, 1));
    EXPECT_FLOAT_EQ(tape.phi_of(row, 1)[3], static_cast<float>(logit_of_score(factor * (1.0 - quality_of(prompt, 1)))));
    EXPECT_DOUBLE_EQ(tape.mu[tape.at(row, 0)], quality_of(prompt, 0));
  }
  EXPECT_EQ(before.size(), 40u);
  EXPECT_EQ(before, after);
  expect_refused(ExitCode::bad_data, "has no model m7, which drift names",
                 [&] { (void)make_plans(config("drift = \"m7:0.5\"")); });
  expect_refused(ExitCode::usage, "give MODEL:FACTOR", [&] { (void)config("drift = \"m1\""); });
}

TEST_F(TraceWorldTest, TheBenchmarkIsHindsight) {
  const Replication r = drawn(planned(config("part = \"kind\"")));
  const Tape& tape = r.tape;
  for (int row = tape.online_row(0); row < tape.contexts.rows; ++row) {
    const std::size_t at = tape.at(row, 0);
    const bool second = tape.mu[at + 1] - tape.cost[at + 1] > tape.mu[at] - tape.cost[at];
    EXPECT_EQ(r.sigma[at + 1] > r.sigma[at], second);
  }
}

TEST_F(TraceWorldTest, WhatAStudyCannotHaveIsRefused) {
  const auto plans = [this](const std::string& keys, const std::string& top = "") {
    (void)make_plans(config(keys, top));
  };
  const ExitCode usage = ExitCode::usage, data = ExitCode::bad_data;
  expect_refused(usage, "T0 = 300 periods, but its table has 20 prompts for calibration", [&] {
    (void)make_plans(
        StudyConfig::parse("environments=[\"mine\"]\nT0=[300]\n[environment.mine]\ntable=\"table.csv\"\nprice=1\n"
                           "part=\"kind\"\n",
                           (base_ / "s.toml").string()));
  });
  expect_refused(usage, "has no price", [&] {
    (void)StudyConfig::parse("environments=[\"mine\"]\n[environment.mine]\ntable=\"table.csv\"\n", "s.toml");
  });
  expect_refused(usage, "is for the paper's model", [&] { plans("u = 0.2"); });
  expect_refused(usage, "is for a table of outcomes", [&] {
    (void)StudyConfig::parse("environments=[\"mine\"]\n[environment.mine]\nlaw=\"uniform\"\nu=0.1\nstream=9\nprice=1\n",
                             "s.toml");
  });
  expect_refused(usage, "evaluator = \"judge\"", [&] { plans("evaluator = \"judge\""); });
  expect_refused(usage, "out of range", [&] { plans("split = 1.0"); });
  expect_refused(usage, "cannot vary", [&] { (void)config("[vary]\nenvironment.mine.split = [0.5]"); });
  expect_refused(data, "table.csv: has no column nothing", [&] { plans("part = \"nothing\""); });
  expect_refused(data, "m3", [&] { plans("models = [\"m0\", \"m3\"]"); });
  expect_refused(ExitCode::mismatch, "environment.mine.digest", [&] { plans("digest = \"00\""); });
}

TEST_F(TraceWorldTest, MoreModelsThanThereIsRoomForMustBeNamed) {
  std::string text = "prompt_id,model,quality,cost\n";
  for (int prompt = 0; prompt < 8; ++prompt)
    for (int model = 0; model < 17; ++model) text += fmt::format("p{},m{},{},0.1\n", prompt, model, model / 20.0);
  write("table.csv", text);
  expect_refused(ExitCode::usage,
                 "has 17 models, more than 16; name some in environment.mine.models, the best by their "
                 "mean quality are m16, m15,",
                 [&] { (void)make_plans(config("")); });
  EXPECT_EQ(planned(config("models = [\"m16\", \"m3\"]")).setting.study.dimensions.boxes, 2);
}

TEST_F(TraceWorldTest, AStudyMayHoldTablesAndThePapersEnvironments) {
  StudyConfig both = config("part = \"kind\"");
  both.set("environments", "uniform,mine", "test");
  const std::vector<PlannedSetting> settings = make_plans(both);
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].setting.study.dimensions, Dimensions{});
  EXPECT_EQ(settings[1].setting.study.dimensions.boxes, 2);
  EXPECT_EQ(settings[0].number, settings[1].number);
}

TEST_F(TraceWorldTest, TellsHowFarReadingIsAndEndsWhereThatThrows) {
  std::uint64_t read = 0;
  TraceWorld::set_progress([&read](const std::string&, std::uint64_t done, std::uint64_t) { read = done; });
  (void)make_plans(config("part = \"kind\""));
  EXPECT_EQ(read, std::filesystem::file_size(base_ / "table.csv"));
  write("table.csv",
        test::read_file(base_ / "table.csv") + "p99,m0,0.5,0.1,0.5,online,1\np99,m1,0.5,0.1,0.5,online,1\n");
  TraceWorld::set_progress(
      [](const std::string&, std::uint64_t, std::uint64_t) { throw Error(ExitCode::interrupted, "interrupted"); });
  expect_refused(ExitCode::interrupted, "interrupted", [&] { (void)make_plans(config("split = 0.4")); });
  TraceWorld::set_progress({});
}

}  // namespace
}  // namespace pandora
