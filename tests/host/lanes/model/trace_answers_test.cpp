// Tables of outcomes with several answers of a model to a prompt, which a study can open one after the other.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

#include "host/lanes/model/wider_actions.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

constexpr int kPrompts = 30, kModels = 2, kOpenings = 3;
constexpr double kPrice = 20.0, kOutside = 0.7;

struct OneAnswer {
  int prompt, model;
  double quality, dollars;
};

int answers_to(int prompt) {
  return 3 + prompt % 2;
}

class TraceAnswersTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    text_ = "prompt_id,model,answer,quality,cost,kind\n";
    for (int p = 0; p < 8; ++p)
      for (int a = 0; a < kModels; ++a)
        text_ += fmt::format("c{},m{},0,{:.4f},{:.4f},calibration\n", p, a, uniform(random), 0.001 * (a + 1));
    for (int j = 0; j < 4; ++j)  // the answers to a prompt do not stand together
      for (int p = 0; p < kPrompts; ++p)
        for (int a = 0; a < kModels && j < answers_to(p); ++a) {
          const OneAnswer answer{p, a, std::round(1e4 * uniform(random)) / 1e4, 1e-5 * (1.0 + by_dollars_.size())};
          text_ += fmt::format("p{},m{},{},{},{:.5f},online\n", p, a, j, answer.quality, answer.dollars);
          by_dollars_.push_back(answer);
        }
    write(text_);
  }
  void write(const std::string& text) const { std::ofstream(base_ / "table.csv") << text; }

  PlannedSetting planned(const std::string& keys = "", const std::string& top = "replications = 2",
                         const std::string& actions = "openings = 3\noutside = 0.7") const {
    return make_plans(StudyConfig::parse(
        fmt::format("environments = [\"mine\"]\nT0 = [3]\npolicies = [\"hindsight\", \"best_of_n\"]\n"
                    "{}\n[actions]\n{}\n[environment.mine]\ntable = \"table.csv\"\nprice = {}\nrepeats = true\n"
                    "part = \"kind\"\n{}\n",
                    top, actions, kPrice, keys),
        (base_ / "study.toml").string()))[0];
  }
  static Replication drawn(const PlannedSetting& planned, std::size_t unit = 0) {
    return prepare_replication(planned.setting.study, planned.plan, planned.plan.units[unit], nullptr);
  }
  // What a box shows in period t when it is opened for the (k+1)-th time, known by its cost.
  std::size_t shown(const Tape& tape, int t, int k, int a) const {
    const double cost = tape.cost[tape.at(tape.online_row(t) + k * tape.online_rows, a)];
    return static_cast<std::size_t>(std::lround(cost / kPrice * 1e5)) - 1;
  }
  void expect_refused(ExitCode code, const std::vector<std::string>& what, auto&&... study) const {
    try {
      (void)planned(study...);
      FAIL() << "not refused: " << what[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      for (const std::string& one : what) EXPECT_THAT(error.what(), testing::HasSubstr(one));
    }
  }

  std::string text_;
  std::vector<OneAnswer> by_dollars_;
};

TEST_F(TraceAnswersTest, APeriodIsAPromptWhoseOpeningsShowDifferentAnswers) {
  const PlannedSetting p = planned();
  EXPECT_EQ(p.setting.study.periods, kPrompts);
  std::vector<int> orders[2];
  int tied = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    const Tape tape = drawn(p, r).tape;
    ASSERT_EQ(tape.contexts.rows, 1 + 3 + kPrompts * kOpenings);
    ASSERT_EQ(tape.online_rows, kPrompts);
    for (int t = 0; t < kPrompts; ++t) {
      std::set<std::size_t> seen;
      orders[r].push_back(by_dollars_[shown(tape, t, 0, 0)].prompt);
      for (int k = 0; k < kOpenings; ++k)
        for (int a = 0; a < kModels; ++a) {
          const std::size_t cell = tape.at(tape.online_row(t) + k * kPrompts, a), at = shown(tape, t, k, a);
          EXPECT_EQ(by_dollars_[at].prompt, orders[r].back());
          EXPECT_EQ(by_dollars_[at].model, a);
          EXPECT_DOUBLE_EQ(tape.mu[cell], by_dollars_[at].quality);
          EXPECT_FLOAT_EQ(tape.reward[cell], static_cast<float>(by_dollars_[at].quality));
          EXPECT_TRUE(seen.insert(at).second);
        }
      tied += shown(tape, t, 0, 0) + 1 == shown(tape, t, 0, 1) ? 1 : 0;  // both models show answers of one number
    }
    EXPECT_EQ((std::set<int>(orders[r].begin(), orders[r].end()).size()), static_cast<std::size_t>(kPrompts));
  }
  EXPECT_NE(orders[0], orders[1]);
  // Every model's answers have an order of their own: they agree in a third or a quarter of 60 periods.
  EXPECT_LT(tied, 0.3 * 60 + 4.0 * std::sqrt(0.3 * 0.7 * 60));
  EXPECT_GT(tied, 0.3 * 60 - 4.0 * std::sqrt(0.3 * 0.7 * 60));
}

TEST_F(TraceAnswersTest, EveryAnswerComesEquallyOftenInEveryPlace) {
  const PlannedSetting p = planned("", "replications = 200\nseed = 5");
  std::vector<int> times(by_dollars_.size());
  for (std::size_t r = 0; r < 200; ++r) {
    const Tape tape = drawn(p, r).tape;
    for (int t = 0; t < kPrompts; ++t) ++times[shown(tape, t, 1, 1)];
  }
  double squares = 0.0;
  int free = 0;
  for (std::size_t at = 0; at < times.size(); ++at) {
    if (by_dollars_[at].model != 1) continue;
    const int m = answers_to(by_dollars_[at].prompt);
    squares += std::pow(times[at] - 200.0 / m, 2) / (200.0 / m);
    ++free;
  }
  free -= kPrompts;  // places that show an answer add up to 200 for each prompt
  EXPECT_NEAR(squares, free, 3.0 * std::sqrt(2.0 * free));
}

TEST_F(TraceAnswersTest, InOrderTakesPromptsAndAnswersAsInTheFileAndBootstrapWithReplacement) {
  const Tape tape = drawn(planned("resample = \"in_order\"")).tape;
  std::vector<std::vector<std::size_t>> of(kPrompts * kModels);
  for (std::size_t at = 0; at < by_dollars_.size(); ++at)
    of[static_cast<std::size_t>(by_dollars_[at].prompt * kModels + by_dollars_[at].model)].push_back(at);
  for (int t = 0; t < kPrompts; ++t)
    for (int k = 0; k < kOpenings; ++k)
      for (int a = 0; a < kModels; ++a)
        EXPECT_EQ(shown(tape, t, k, a), of[static_cast<std::size_t>(t * kModels + a)][static_cast<std::size_t>(k)]);
  const Tape again = drawn(planned("resample = \"bootstrap\"")).tape;
  std::set<int> seen;
  for (int t = 0; t < kPrompts; ++t) seen.insert(by_dollars_[shown(again, t, 2, 1)].prompt);
  EXPECT_LT(seen.size(), 28u);
  EXPECT_GT(seen.size(), 10u);
  EXPECT_EQ(planned("repeat = true", "periods = 50").setting.study.periods, 50);
}

// What a plain loop over the file finds that draws the same periods.
struct PlainSums {
  double hindsight = 0.0, threshold = 0.0;  ///< of utilities over periods
  double of_n[kModels][kOpenings] = {};     ///< best of n + 1 answers of a model
};

// Adds a period in which model a would show the answers shown[a], one after the other.
void add_plainly(const std::vector<OneAnswer> (&shown)[kModels], PlainSums& sums) {
  double best = kOutside;
  for (int a = 0; a < kModels; ++a) {
    double reached = kOutside, spent = 0.0;
    for (int k = 0; k < kOpenings; ++k) {
      const OneAnswer& answer = shown[a][static_cast<std::size_t>(k)];
      best = std::max(best, answer.quality - kPrice * answer.dollars);
      reached = std::max(reached, answer.quality);
      spent += kPrice * answer.dollars;
      sums.of_n[a][k] += reached - spent;
    }
  }
  sums.hindsight += best;
  // Opens model 1 twice and then model 0, until an answer of the first reaches 0.8, or of the second 0.6.
  double reached = kOutside, spent = 0.0;
  for (const auto& [answer, least] :
       {std::pair(shown[1][0], 0.8), std::pair(shown[1][1], 0.6), std::pair(shown[0][0], 0.0)}) {
    reached = std::max(reached, answer.quality);
    spent += kPrice * answer.dollars;
    if (answer.quality >= least) break;
  }
  sums.threshold += reached - spent;
}

PlainSums plain_sums(const std::vector<OneAnswer>& answers, const Stream& stream, bool in_order) {
  const auto number = [&](std::uint32_t block, std::uint32_t period, std::uint32_t box) {
    std::uint32_t words[4][1];
    philox<1>(stream, {block}, {period}, {box}, words);
    return in_order ? 0 : static_cast<std::uint64_t>(words[0][0]) << 32 | words[1][0];
  };
  std::multimap<std::uint64_t, int> prompts;
  for (int q = 0; q < kPrompts; ++q) prompts.emplace(number(0, static_cast<std::uint32_t>(q), 0), q);
  PlainSums sums;
  std::uint32_t t = 0;
  for (const auto& [key, prompt] : prompts) {
    std::vector<OneAnswer> shown[kModels];
    for (int a = 0; a < kModels; ++a) {
      std::multimap<std::uint64_t, OneAnswer> order;
      std::uint32_t j = 0;
      for (const OneAnswer& answer : answers)
        if (answer.prompt == prompt && answer.model == a)
          order.emplace(number(j++, t, 1 + static_cast<std::uint32_t>(a)), answer);
      for (const auto& [place, answer] : order) shown[a].push_back(answer);
    }
    add_plainly(shown, sums);
    ++t;
  }
  return sums;
}

TEST_F(TraceAnswersTest, APlainLoopOverTheFileHasTheUtilityOfTheEngine) {
  for (const char* resample : {"in_order", "permute"}) {
    const PlannedSetting p = planned(fmt::format("resample = \"{}\"", resample));
    const Study& study = p.setting.study;
    const Replication replication = drawn(p);
    const PlainSums wanted = plain_sums(by_dollars_, replication.instance.stream(Purpose::online_context),
                                        std::string(resample) == "in_order");
    const auto utility = [&](const LaneSpec& spec) { return run_one_lane(study, replication, spec, nullptr).utility; };
    ASSERT_EQ(p.plan.lanes[0].policy->name, "oracle");
    ASSERT_EQ(p.plan.lanes[1].policy->name, "hindsight");
    for (const std::size_t lane : {0, 1})
      EXPECT_NEAR(utility(p.plan.lanes[lane].variant.lane(replication, 0)), wanted.hindsight, 1e-9);
    double most = 0.0;
    LaneSpec spec;
    spec.order = Order::listed;
    spec.stop = Stop::never;
    for (int a = 0; a < kModels; ++a)
      for (int k = 0; k < kOpenings; ++k) {
        LaneSpec again = spec;
        again.length = k + 1;
        std::fill_n(again.list, k + 1, a);
        play_arms(again, study.actions, kModels);
        EXPECT_NEAR(utility(again), wanted.of_n[a][k], 1e-9);
        most = std::max(most, wanted.of_n[a][k]);
      }
    EXPECT_LE(utility(p.plan.lanes[2].variant.lane(replication, 0)), most + 1e-9);
    spec.stop = Stop::last_reaches_threshold;
    spec.length = 3;
    spec.list[0] = spec.list[1] = 1;
    spec.threshold[0] = 0.8, spec.threshold[1] = 0.6;
    play_arms(spec, study.actions, kModels);
    EXPECT_NEAR(utility(spec), wanted.threshold, 1e-9);
  }
}

// The benchmark has no regret, in any part; nobody has less. The statistics count prompts.
TEST_F(TraceAnswersTest, SummariesCountPrompts) {
  for (const char* actions : {"openings = 3", "outside = 0.7", "openings = 2\noutside = 0.7"}) {
    PlannedSetting p = planned("", "replications = 5", actions);
    Study& study = p.setting.study;
    study.policies = {"hindsight", "best_of_n", "dow", "random_order", "best_single", "frugalgpt"};
    const Plan plan = make_plan(study);
    const std::vector<UnitResult> results = run_sweep(study, plan, SweepOptions{});
    const double periods = study.actions.openings > 1 ? kPrompts : static_cast<double>(by_dollars_.size() / 2);
    for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      double utility = 0.0, cost = 0.0, calls = 0.0, gap = 0.0;
      for (const UnitResult& unit : results) {
        const LaneTally& tally = unit.lanes[lane];
        ASSERT_EQ(tally.failure, Failure::none);
        ASSERT_EQ(tally.periods, static_cast<int>(periods));
        utility += tally.utility / periods / 5.0;
        cost += tally.cost / periods / 5.0;
        calls += tally.queries() / periods / 5.0;
        gap += (unit.lanes[0].utility - tally.utility) / periods / 5.0;
        EXPECT_LE(tally.utility, unit.lanes[0].utility + 1e-9);
        const RegretParts& lost = tally.regret;
        EXPECT_NEAR(lost.wrong_order + lost.too_early + lost.too_many + lost.wrong_deployment,
                    unit.lanes[0].utility - tally.utility, 1e-9);
      }
      EXPECT_EQ(results[0].lanes[0].regret, RegretParts{});
      const PromptStatistics found = prompt_statistics(results, lane, kPrice, study.actions);
      EXPECT_NEAR(found.utility.mean, utility, 1e-6);
      EXPECT_NEAR(found.cost_usd_per_1000.mean, 1000.0 / kPrice * cost, 1e-5);
      EXPECT_NEAR(found.calls.mean, calls, 1e-12);
      EXPECT_NEAR(found.gap.mean, gap, 1e-6);
      // All periods with a prompt's answers, in all five replications, are one draw.
      const SumsByPrompt sums = utility_by_prompt(results, lane, kPrice, study.actions);
      double squares = 0.0, prompts = 0.0, all = 0.0;
      for (std::size_t prompt = 0; prompt < sums.sums.size(); ++prompt) {
        squares += std::pow(sums.sums[prompt] - sums.periods[prompt] * utility, 2);
        prompts += sums.periods[prompt] > 0.0 ? 1.0 : 0.0;
        all += sums.periods[prompt];
      }
      EXPECT_EQ(prompts, kPrompts);
      EXPECT_EQ(all, 5.0 * periods);
      EXPECT_NEAR(found.utility.standard_error, std::sqrt(prompts / (prompts - 1.0) * squares) / all, 1e-6);
    }
  }
}

TEST_F(TraceAnswersTest, WhatATableCannotShowIsRefused) {
  expect_refused(ExitCode::bad_data,
                 {"table.csv", "prompt \"p0\" has 3 answers", "actions.openings = 4 needs as many", "give fewer"}, "",
                 "", "openings = 4");
  expect_refused(ExitCode::usage, {"actions.openings = 2", "answers from other prompts", "leave out one"},
                 "resample = \"independent\"", "", "openings = 2");
  expect_refused(ExitCode::usage, {"actions.openings = 2", "environment mine drifts"}, "drift = \"m1:0.5\"",
                 "replications = 2", "openings = 2");
  expect_refused(ExitCode::usage, {"actions.uninspected", "environment mine is a table of outcomes"}, "",
                 "replications = 2", "uninspected = true");
  expect_refused(ExitCode::usage, {"environment mine: [actions]", "18 things to open", "16 are the most"}, "",
                 "replications = 2", "openings = 9");
  EXPECT_NO_THROW(planned("resample = \"independent\"\ndrift = \"m1:0.5\"", "", "outside = 0.7"));
  EXPECT_NO_THROW(planned("models = [\"m1\"]", "", "openings = 3"));
}

}  // namespace
}  // namespace pandora
