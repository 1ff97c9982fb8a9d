// What a fit finds on tables of a known law, and what it says of it.
#include "host/cascades/fits/fit_cascade.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/judge_cascade.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using test::settings_at;
using test::TraceLaw;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string all_text(const std::vector<Table>& tables) {
  std::string out;
  for (const Table& table : tables) out += table_text(table, 10'000, false);
  return out;
}

TEST(FitCascade, PaysWhereTheTruthIsSeen) {
  const TraceLaw law(0.4);
  const TraceTable table = test::drawn_table(law, 500, 1);
  const CascadeFit fit = fit_cascade(table, settings_at(10.0));
  EXPECT_EQ(fit.choice.kind, CascadeKind::thresholds);
  EXPECT_GT(fit.choice.gain.low, 0.0);
  EXPECT_EQ(fit.price, 10.0);
  EXPECT_THAT(fit.verdict, StartsWith("use "));
  EXPECT_THAT(fit.verdict, HasSubstr(" in utility per prompt over "));
  const CascadeOptions cascade = fit.cascade->options();
  ASSERT_GT(cascade.order.size(), 1u);
  EXPECT_EQ(cascade.order.size(), cascade.thresholds.size() + 1);
  EXPECT_EQ(cascade.models.size(), cascade.order.size());  // no more than it calls
  // What the cascade is worth under the law is near the promise.
  EXPECT_NEAR(test::worth_under(law, *fit.cascade).utility, fit.promise.utility.value, 0.05);
  // Every model that it calls is worth having, and a share of the prompts sees it.
  EXPECT_EQ(fit.without.size(), cascade.models.size());
  for (const OtherFit& other : fit.without) EXPECT_LT(other.change->value, 0.005) << other.what;
  EXPECT_EQ(fit.shares[cascade.order[0]].called, 1.0);
  double deployed = 0.0;
  for (const ModelShare& share : fit.shares) deployed += share.deployed;
  EXPECT_NEAR(deployed, 1.0, 1e-12);
}

// A kind that was asked for by name is what is given, though it is not sure to pay, and the verdict says so.
TEST(FitCascade, GivesTheKindThatWasAskedFor) {
  const TraceTable table = test::drawn_table(TraceLaw(1.0), 500, 2);
  CascadeFitSettings settings = settings_at(10.0, "score");
  settings.set_kind("indices");
  settings.forget = 200.0;
  settings.width = 0.3;
  const CascadeFit fit = fit_cascade(table, settings);
  EXPECT_EQ(fit.choice.kind, CascadeKind::indices);
  EXPECT_FALSE(fit.choice.pays);
  EXPECT_EQ(fit.break_even_judge, 0.0);
  EXPECT_THAT(fit.verdict, AllOf(StartsWith("use indices of each prompt, as was asked for, although it is not sure to "
                                            "be better than " +
                                            fit.single_model + " alone"),
                                 HasSubstr("gain ")));
  const CascadeOptions cascade = fit.cascade->options();
  EXPECT_EQ(cascade.rules->c_rho, 0.3);
  EXPECT_EQ(cascade.estimation.forgetting.half_life, 200.0);
  settings.set_kind("auto");
  EXPECT_THROW(fit_cascade(table, settings), Error);  // what would fade
}

TEST(FitCascade, UsesOneModelWhereTheScoreSaysNothing) {
  const TraceLaw law(1.0);
  const TraceTable table = test::drawn_table(law, 500, 2);
  const CascadeFit fit = fit_cascade(table, settings_at(10.0, "score"));
  EXPECT_EQ(fit.choice.kind, CascadeKind::single);
  EXPECT_TRUE(fit.notes.empty());
  CascadeFitSettings to_learn = settings_at(10.0, "score");
  to_learn.indices = true;
  EXPECT_THAT(fit_cascade(table, to_learn).notes,
              ElementsAre(StartsWith("one model alone learns nothing while it runs")));
  const CascadeOptions cascade = fit.cascade->options();
  EXPECT_EQ(cascade.models, std::vector<std::string>{fit.single_model});
  EXPECT_TRUE(cascade.thresholds.empty());
  EXPECT_THAT(fit.verdict, StartsWith("use " + fit.single_model +
                                      " alone: no cascade is better with this evaluator "
                                      "(score) at price 10: thresholds gain "));
  const JudgedCascade judged = judge_cascade(*fit.cascade, "c", test::drawn_table(law, 100, 3), "");
  EXPECT_EQ(judged.against, fit.single_model);
  EXPECT_EQ(judged.worth.gain.value, 0.0);
  EXPECT_EQ(judged.worth.saving.value, 0.0);
  EXPECT_THAT(judged.verdict, StartsWith("the cascade is " + fit.single_model + " alone: "));
}

TEST(FitCascade, IndicesThatAreNoBetterLeaveTheSimplerKind) {
  const TraceLaw law(0.4);
  CascadeFitSettings settings = settings_at(10.0);
  settings.indices = true;
  const CascadeFit fit = fit_cascade(test::drawn_table(law, 300, 3), settings);
  ASSERT_EQ(fit.kinds.size(), 2u);
  EXPECT_TRUE(fit.choice.rival.has_value());
  EXPECT_EQ(fit.choice.kind, CascadeKind::thresholds);
  EXPECT_EQ(runner_up(fit), CascadeKind::indices);
  const std::string text = all_text(show_tables(fit.cascade->options(), fit.cascade->counts(), "c"));
  EXPECT_THAT(text, HasSubstr("choice: thresholds; runner-up: indices; indices less thresholds is "));
}

// A prompt's hardness, which is known beforehand, says which model it needs.
TraceTable table_with_hardness(std::size_t rows, std::uint64_t seed) {
  test::Random random(seed);
  TraceTable table;
  table.source = "hardness";
  table.models = {"small", "large"};
  PromptColumn hardness{"hardness", PromptColumn::Kind::number, 1, {}, {}};
  for (std::size_t row = 0; row < rows; ++row) {
    const bool hard = random.below(2) == 1;
    hardness.numbers.push_back(hard ? 1.0 : 0.0);
    table.prompts.push_back(std::to_string(row));
    for (const double quality : {hard ? 0.1 : 0.9, 0.9}) table.quality.push_back(quality + random.uniform(-0.1, 0.1));
    table.cost.insert(table.cost.end(), {0.02, 0.03});
  }
  table.columns = {hardness};
  return table;
}

TEST(FitCascade, IndicesByTheContextWhereItTells) {
  CascadeFitSettings settings = settings_at(10.0);
  settings.indices = true;
  settings.context = {"hardness"};
  const CascadeFit fit = fit_cascade(table_with_hardness(300, 5), settings);
  EXPECT_EQ(fit.choice.kind, CascadeKind::indices);
  EXPECT_GT(fit.choice.difference.value, fit.choice.difference_error);
  const CascadeOptions cascade = fit.cascade->options();
  ASSERT_TRUE(cascade.rules.has_value());
  EXPECT_EQ(cascade.models.size(), 2u);
  const JudgedCascade judged = judge_cascade(*fit.cascade, "c", table_with_hardness(300, 6), "");
  EXPECT_GT(judged.worth.gain.low, 0.0);
  EXPECT_NEAR(judged.worth.gain.value, fit.promise.gain.value, 0.02);
  EXPECT_NEAR(judged.worth.calls.value, 1.0, 0.05);  // the right one at once
  EXPECT_THAT(all_text(show_tables(cascade, fit.cascade->counts(), "c")), HasSubstr("indices from its features"));
  // Written, read and judged again it is the same.
  Cascade again = Cascade::parse(fit.cascade->text(), "again");
  EXPECT_EQ(judge_cascade(again, "c", table_with_hardness(300, 6), "").worth.utility.value, judged.worth.utility.value);
}

TEST(FitCascade, AContextThatIsNotUsedIsTold) {
  const TraceTable table = table_with_hardness(200, 5);
  CascadeFitSettings settings = settings_at(10.0);
  settings.context = {"hardness"};
  EXPECT_THROW(fit_cascade(table, settings), Error);
  settings.indices = true;
  EXPECT_TRUE(fit_cascade(table, settings).notes.empty());
  settings.aim.value = 0.0;  // the large model is the best one whatever the context says
  const CascadeFit fit = fit_cascade(table, settings);
  ASSERT_NE(fit.choice.kind, CascadeKind::indices);
  const std::string shown = all_text(show_tables(fit.cascade->options(), fit.cascade->counts(), "c"));
  EXPECT_THAT(shown, HasSubstr("context: not used; "));
}

TEST(FitCascade, AContextThatTellsTheBestModelIsSuspected) {
  TraceTable table = table_with_hardness(200, 5);
  PromptColumn best{"best_arm", PromptColumn::Kind::text, 1, {}, {}}, cheap = best, names = best;
  cheap.name = "best at price 10";
  cheap.kind = PromptColumn::Kind::number;
  names.name = "id";
  for (std::size_t row = 0; row < 200; ++row) {
    const double* const q = &table.quality[2 * row];
    best.texts.push_back(table.models[q[1] > q[0] ? 1 : 0]);
    cheap.numbers.push_back(q[1] - 0.3 > q[0] - 0.2 ? 1.0 : 0.0);
    names.texts.push_back(std::to_string(row));  // each value once: nothing can be known of it
  }
  table.columns.insert(table.columns.end(), {best, cheap, names});
  EXPECT_TRUE(suspected_leaks(table, {"hardness", "id", "length"}, 10.0).empty());
  const std::vector<std::string> found = suspected_leaks(table, {"hardness", "best_arm", "raw:best at price 10"}, 10.0);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0],
              StartsWith("context best_arm tells the best model of 100.0% of the prompts (one model for all: "));
  EXPECT_THAT(found[1], StartsWith("context best at price 10 tells the best model of 100.0%"));
}

TEST(FitCascade, AJudgeThatCostsIsCountedWhereSeveralModelsAreCalled) {
  const TraceLaw law(0.2);
  const TraceTable table = test::drawn_table(law, 400, 7);
  const CascadeFit free = fit_cascade(table, settings_at(10.0, "score"));
  ASSERT_EQ(free.choice.kind, CascadeKind::thresholds);
  ASSERT_GT(free.break_even_judge, 0.0);
  ASSERT_EQ(free.elsewhere.size(), 4u);
  EXPECT_GT(free.elsewhere[2].worth.gain.value, free.elsewhere[3].worth.gain.value);
  CascadeFitSettings dear = settings_at(10.0, "score");
  dear.judge_usd = 0.25 * free.break_even_judge;
  const CascadeFit judged = fit_cascade(table, dear);
  EXPECT_NEAR(judged.kinds[0].second.gain.value, free.elsewhere[2].worth.gain.value, 1e-9);
  // A single model needs no judge.
  EXPECT_EQ(judged.single.utility.value, free.single.utility.value);
  dear.judge_usd = 3.0 * free.break_even_judge;
  const CascadeFit alone = fit_cascade(table, dear);
  EXPECT_EQ(alone.choice.kind, CascadeKind::single);
  const JudgedCascade tested = judge_cascade(*alone.cascade, "c", table, "");
  EXPECT_EQ(tested.worth.utility.value, tested.alone.utility.value);
  // In a test each call costs the judge.
  dear.judge_usd = 0.25 * free.break_even_judge;
  CascadeOptions options = free.cascade->options();
  nlohmann::json record = nlohmann::json::parse(options.about);
  record["judge_usd"] = *dear.judge_usd;
  options.about = record.dump();
  Cascade with_judge(options), without(free.cascade->options());
  const JudgedCascade more = judge_cascade(with_judge, "c", table, ""), less = judge_cascade(without, "c", table, "");
  EXPECT_NEAR(more.worth.usd_per_1000.value - less.worth.usd_per_1000.value,
              1000.0 * *dear.judge_usd * less.worth.calls.value, 1e-9);
}

TEST(FitCascade, TheRecordSaysHowItWasFitted) {
  const TraceLaw law(0.4);
  const TraceTable table = test::drawn_table(law, 300, 8);
  CascadeFitSettings settings = settings_at(0.0);
  settings.aim = {CascadeAim::Kind::most_usd, 0.004};
  const CascadeFit fit = fit_cascade(table, settings);
  const nlohmann::json record = nlohmann::json::parse(fit.cascade->options().about);
  EXPECT_EQ(record["digest"], content_digest(table));
  EXPECT_EQ(record["rows"], 300);
  EXPECT_EQ(record["aim"]["kind"], "max_usd");
  EXPECT_EQ(record["aim"]["value"], 0.004);
  EXPECT_EQ(record["bound"]["met"], true);
  EXPECT_EQ(record["bound"]["missed_by"], 0.0);
  EXPECT_LE(record["bound"]["reached"].get<double>(), 0.004);
  EXPECT_EQ(record["single"]["model"], fit.single_model);
  EXPECT_EQ(record["promise"]["quality"]["value"], fit.promise.quality.value);
  EXPECT_EQ(record["choice"], "thresholds");
  EXPECT_EQ(record["runner_up"], "best single");
  EXPECT_EQ(record["verdict"], fit.verdict);
  EXPECT_EQ(record["price"], fit.price);
  EXPECT_THAT(fit.verdict,
              StartsWith("at most 0.004 dollars per prompt is kept: with 95% confidence it is at most $0.00"));
  const std::string shown = all_text(show_tables(fit.cascade->options(), fit.cascade->counts(), "c"));
  EXPECT_THAT(shown, HasSubstr(fit.verdict));
  EXPECT_THAT(shown,
              HasSubstr(" on 300 prompts with 3 models (made up), evaluator quality, judging taken to be free: "));
  EXPECT_THAT(shown, HasSubstr(table.models[0]));
}

TEST(FitCascade, ABoundThatNothingKeepsIsToldByHowMuch) {
  const TraceLaw law(0.4);
  CascadeFitSettings settings = settings_at(0.0);
  settings.aim = {CascadeAim::Kind::least_quality, 0.99};
  const CascadeFit fit = fit_cascade(test::drawn_table(law, 300, 9), settings);
  EXPECT_FALSE(fit.choice.chosen().met);
  EXPECT_THAT(fit.verdict, StartsWith("quality of at least 0.99 is missed by 0."));
  EXPECT_NEAR(nlohmann::json::parse(fit.cascade->options().about)["bound"]["missed_by"].get<double>(),
              0.99 - fit.choice.chosen().bound, 1e-12);
  settings.aim = {CascadeAim::Kind::most_usd, 1e-6};
  const CascadeFit cheap = fit_cascade(test::drawn_table(law, 300, 9), settings);
  EXPECT_THAT(cheap.verdict, StartsWith("at most 1e-06 dollars per prompt is missed by $0.00"));
  EXPECT_EQ(cheap.cascade->options().models, std::vector<std::string>{"small"});
}

TEST(FitCascade, TellsHowFarItIsAndEndsWhenTold) {
  const TraceTable table = test::drawn_table(test::TraceLaw(0.4), 100, 3);
  CascadeFitSettings settings = settings_at(5.0);
  std::size_t last = 0, total = 0;
  settings.progress = std::make_shared<FitProgress>([&](std::size_t done, std::size_t of) {
    EXPECT_EQ(done, last + 1);
    EXPECT_LE(done, of);
    last = done;
    total = of;
  });
  (void)fit_cascade(table, settings);
  EXPECT_GE(last, 16u);
  EXPECT_GE(total, last);
  settings.progress = std::make_shared<FitProgress>([&](std::size_t done, std::size_t) {
    if (done == 3) throw Error(ExitCode::interrupted, "enough");
  });
  EXPECT_THROW((void)fit_cascade(table, settings), Error);
}

TEST(FitCascade, ThreadsDoNotMatter) {
  const TraceTable table = test::drawn_table(TraceLaw(0.4), 200, 10);
  CascadeFitSettings settings = settings_at(10.0);
  settings.indices = true;
  const std::string one = fit_cascade(table, settings).cascade->text();
  settings.threads = 4;
  EXPECT_EQ(fit_cascade(table, settings).cascade->text(), one);
}

TEST(FitCascade, RefusesWhatItCannotFit) {
  const TraceLaw law(0.4);
  const auto refusal = [&](const TraceTable& table, const CascadeFitSettings& settings, ExitCode code) {
    try {
      (void)fit_cascade(table, settings);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return std::string(error.what());
    }
    ADD_FAILURE() << "was not refused";
    return std::string();
  };
  const TraceTable table = test::drawn_table(law, 30, 11);
  for (const double price : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_THAT(refusal(table, settings_at(price), ExitCode::usage), HasSubstr("--price"));
  EXPECT_THAT(refusal(table, settings_at(1.0, "truth"), ExitCode::usage), HasSubstr("evaluator truth: unknown"));
  EXPECT_THAT(refusal(test::drawn_table(law, 9, 12), settings_at(1.0), ExitCode::bad_data),
              HasSubstr("made up: has 9 different prompts: too few"));
  CascadeFitSettings settings = settings_at(1.0);
  settings.aim = {CascadeAim::Kind::least_quality, 1.5};
  EXPECT_THAT(refusal(table, settings, ExitCode::usage), HasSubstr("--min-quality 1.5: out of range"));
  settings.aim = {CascadeAim::Kind::most_usd, 0.0};
  EXPECT_THAT(refusal(table, settings, ExitCode::usage), HasSubstr("--max-usd 0: out of range"));
  settings = settings_at(1.0);
  settings.judge_usd = -1.0;
  EXPECT_THAT(refusal(table, settings, ExitCode::usage), HasSubstr("--judge-usd -1: out of range"));
  settings = settings_at(1.0);
  settings.indices = true;
  settings.context = {"text:4"};
  EXPECT_THAT(refusal(table, settings, ExitCode::bad_data), HasSubstr("no text of prompts"));
  EXPECT_EQ(fit_cascade(select_models(table, {"large"}), settings_at(1.0)).verdict,
            "use large alone, the only model; evaluator quality: judging is taken to be free");
}

}  // namespace
}  // namespace pandora
