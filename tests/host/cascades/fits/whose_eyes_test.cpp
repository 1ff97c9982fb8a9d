// Whose eyes a cascade sees with: an evaluator that must be said, what its judge costs, and what that leaves of a
// claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/cascades/fits/frontier_metrics.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using test::settings_at;
using test::TraceLaw;
using testing::EndsWith;
using testing::HasSubstr;

template <class Body>
std::string usage_error(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was not refused";
  return "";
}

TEST(WhoseEyes, AnEvaluatorMustBeSaidAndTheTablesJudgesAreNamed) {
  TraceTable table = test::drawn_table(TraceLaw(0.4), 30, 1);
  const std::string
      what = "no evaluator is given, which says what is seen of an answer at run time: ",
      yardstick = ", and quality is a yardstick, a free and perfect judge that needs the truth at run time; give ";
  const auto fit = [&] { (void)fit_cascade(table, settings_at(1.0, "")); };
  EXPECT_EQ(usage_error(fit), what + "made up has score" + yardstick + "--evaluator score");
  EXPECT_EQ(usage_error([&] { (void)find_frontier(table, table, settings_at(0.0, ""), {}); }), usage_error(fit));
  for (const char* name : {"score_2", "score:a", "gpt"}) table.scores.push_back({name, table.scores[0].values});
  EXPECT_EQ(usage_error(fit),
            what + "made up has score, score:2, score:a, score:gpt" + yardstick + "--evaluator score");
  for (const char* judge : {"score", "score:2", "score:a", "score:gpt"})
    EXPECT_EQ(fit_cascade(table, settings_at(1.0, judge)).settings.evaluator, judge);  // as they are listed
  table.scores.erase(table.scores.begin());
  EXPECT_THAT(usage_error(fit), EndsWith("; give --evaluator score:2"));
  table.scores.clear();
  EXPECT_EQ(usage_error(fit),
            what + "made up has no judge's score" + yardstick + "--evaluator quality if the truth is known then");
  EXPECT_EQ(usage_error([] { (void)new_cascade(NewCascade()); }),
            what + "score and score:NAME are judges'" + yardstick + "--evaluator score");
}

TEST(WhoseEyes, OneDecoderOfEvaluators) {
  using Kind = EvaluatorSpec::Kind;
  const auto is = [](const char* text, Kind kind, const std::string& name) {
    const auto spec = evaluator_of(text);
    return spec && spec->kind == kind && spec->name == name;
  };
  EXPECT_TRUE(is("quality", Kind::quality, ""));
  EXPECT_TRUE(is("score", Kind::score, "score"));
  EXPECT_TRUE(is("score:2", Kind::score, "2"));
  EXPECT_TRUE(is("noisy:0.5", Kind::noisy, "0.5"));
  EXPECT_TRUE(is("column:phi", Kind::column, "phi"));
  for (const char* text : {"", "score:", "noisy:", "column:", "scores", "Quality", "judge"})
    EXPECT_FALSE(evaluator_of(text).has_value()) << text;
}

// Two of three prompts end with the small model; the large one is always right and costs five times as much.
TraceTable two_of_three() {
  TraceTable table;
  table.source = "two of three";
  table.models = {"small", "large"};
  table.scores = {{"score", {}}};
  for (int row = 0; row < 300; ++row) {
    table.prompts.push_back(std::to_string(row));
    for (const double quality : {row % 3 == 0 ? 0.1 : 1.0, 1.0}) table.quality.push_back(quality);
    table.cost.insert(table.cost.end(), {0.002, 0.01});
  }
  table.scores[0].values = table.quality;
  return table;
}

double gain_with(const CascadeFit& fit, const TraceTable& table, double judge_usd) {
  return judge_cascade(*fit.cascade, "c", table, "large", "", judge_usd).worth.gain.value;
}

TEST(WhoseEyes, WhereJudgingIsSaidToBeFreeTheVerdictSaysWhatItMayCost) {
  const TraceTable table = two_of_three();
  const CascadeFit fit = fit_cascade(table, settings_at(10.0, "score"));
  // The gain, 1 - 10 (0.002 + 0.01 / 3) - 0.9, over the price and 4 / 3 calls.
  const double gone = (0.1 - 0.16 / 3.0) / (10.0 * 4.0 / 3.0);
  EXPECT_NEAR(fit.choice.judged_calls, 4.0 / 3.0, 1e-12);
  EXPECT_NEAR(fit.break_even_judge, gone, 1e-12);
  const std::string eyes = "; evaluator score: judging is taken to be free; at $0.0035 a call the gain is gone";
  EXPECT_THAT(fit.verdict, EndsWith(eyes));
  EXPECT_TRUE(nlohmann::json::parse(fit.cascade->options().about)["judge_usd"].is_null());
  EXPECT_THAT(judge_cascade(*fit.cascade, "c", table, "").verdict, EndsWith(eyes));
  // Retested as it is.
  EXPECT_GT(gain_with(fit, table, 0.999 * gone), 0.0);
  EXPECT_LT(gain_with(fit, table, 1.001 * gone), 0.0);
  // Fitted again, on other shares of hard prompts in each fold.
  CascadeFitSettings paid = settings_at(10.0, "score");
  paid.judge_usd = 0.9 * gone;
  const CascadeFit below = fit_cascade(table, paid);
  EXPECT_GT(below.kinds[0].second.gain.value, 0.0);
  EXPECT_THAT(below.verdict, EndsWith("; evaluator score at $0.00315 a call"));
  paid.judge_usd = 1.1 * gone;
  const CascadeFit above = fit_cascade(table, paid);
  EXPECT_LE(above.kinds[0].second.gain.value, 0.0);
  EXPECT_EQ(above.choice.kind, CascadeKind::single);
  // Nothing is silent about a judge that costs nothing.
  paid.judge_usd = 0.0;
  EXPECT_THAT(fit_cascade(table, paid).verdict, EndsWith("; evaluator score at $0 a call"));
}

TEST(WhoseEyes, UnderABoundAJudgeUsesUpTheSavingOrTheRoom) {
  const TraceTable table = two_of_three();
  CascadeFitSettings settings = settings_at(0.0, "score");
  settings.aim = {CascadeAim::Kind::least_quality, 0.95};
  const CascadeFit good = fit_cascade(table, settings);
  EXPECT_NEAR(good.break_even_judge, (0.01 - 0.016 / 3.0) * 0.75, 1e-12);
  EXPECT_THAT(good.verdict, EndsWith("judging is taken to be free; at $0.0035 a call the gain is gone"));
  const auto saved = [&](double share) {
    return judge_cascade(*good.cascade, "c", table, "large", "", share * good.break_even_judge).worth.saving.value;
  };
  EXPECT_GT(saved(0.999), 0.0);
  EXPECT_LT(saved(1.001), 0.0);
  settings.aim = {CascadeAim::Kind::most_usd, 0.007};
  const CascadeFit cheap = fit_cascade(table, settings);
  EXPECT_THAT(cheap.verdict, HasSubstr("at most 0.007 dollars per prompt is kept"));
  EXPECT_NEAR(cheap.choice.chosen().bound + cheap.break_even_judge * 4.0 / 3.0, 0.007, 1e-12);
  EXPECT_THAT(cheap.verdict, HasSubstr(" a call the room under the bound is gone"));
}

TEST(WhoseEyes, EverythingNamesTheEvaluatorAndItsJudgesCost) {
  const TraceTable table = two_of_three();
  CascadeFitSettings settings = settings_at(10.0, "score");
  settings.judge_usd = 0.0002;
  const CascadeFit fit = fit_cascade(table, settings);
  const CascadeOptions options = fit.cascade->options();
  const std::string eyes = "evaluator score at $0.0002 a call";
  const auto title = [](const Table& part) { return part.title; };
  for (const Table& part : show_tables(options, {}, "c")) EXPECT_THAT(title(part), HasSubstr(eyes));
  const JudgedCascade judged = judge_cascade(*fit.cascade, "c", table, "");
  EXPECT_THAT(title(judged_table(judged)), HasSubstr(eyes));
  EXPECT_THAT(judged.verdict, EndsWith(eyes));
  EXPECT_EQ(judged_json(judged)["judge_usd"], 0.0002);
  const nlohmann::json file = nlohmann::json::parse(fit.cascade->text());
  EXPECT_EQ(file["evaluator"], "score");
  EXPECT_EQ(file["about"]["evaluator"], "score");
  EXPECT_EQ(file["about"]["judge_usd"], 0.0002);
  const std::vector<float> one = {1.0f};
  const nlohmann::json why = nlohmann::json::parse(fit.cascade->explain_json(fit.cascade->begin(one)));
  EXPECT_EQ(why["evaluator"], "score");
  EXPECT_EQ(why["judge_usd"], 0.0002);
  TraceTable fresh = table;
  fresh.named_prompts = true;
  TraceTable first = fresh;
  first.prompts = {};
  for (std::size_t row = 0; row < table.rows(); ++row) first.prompts.push_back("f" + std::to_string(row));
  const Frontier frontier = find_frontier(first, fresh, settings, {10.0});
  EXPECT_THAT(title(frontier_steps(frontier)), HasSubstr(eyes));
  EXPECT_EQ(frontier_numbers(frontier)["evaluator"], eyes);
  EXPECT_THAT(frontier_columns(frontier).csv(), HasSubstr(",evaluator,judge_usd\ncascade,"));
  EXPECT_THAT(frontier_columns(frontier).csv(), HasSubstr(",score,0.0002\nsingle,"));
}

TEST(WhoseEyes, WhoSeesTheTruthIsToldThatItMustBeTheTruth) {
  const TraceTable table = two_of_three();
  EXPECT_THAT(fit_cascade(table, settings_at(10.0)).cascade->caution(),
              HasSubstr("`score` in observe must be the true quality"));
  EXPECT_EQ(fit_cascade(table, settings_at(10.0, "score")).cascade->caution(), "");
  EXPECT_EQ(fit_cascade(select_models(table, {"large"}), settings_at(10.0)).cascade->caution(), "");  // asks no judge
}

TEST(WhoseEyes, ABoundInDollarsPerThousandPromptsIsRefused) {
  const TraceTable table = two_of_three();  // both models cost 0.012 dollars
  CascadeFitSettings settings = settings_at(0.0, "score");
  const auto at = [&](double usd) {
    settings.aim = {CascadeAim::Kind::most_usd, usd};
    return fit_cascade(table, settings);
  };
  EXPECT_EQ(usage_error([&] { (void)at(4.0); }),
            "--max-usd 4: is in dollars per prompt, and calling every model takes no more than 0.012 of them; for a "
            "bound per "
            "1,000 prompts give --max-usd 0.004, for none --price 0");
  EXPECT_THAT(usage_error([&] { (void)at(0.0121); }), HasSubstr("--max-usd 0.0121"));
  EXPECT_TRUE(at(0.0119).choice.chosen().met);
  settings.judge_usd = 0.001;
  EXPECT_TRUE(at(0.0139).choice.chosen().met);
  EXPECT_THAT(usage_error([&] { (void)at(0.0141); }), HasSubstr("no more than 0.014"));
}

// On a law whose judge is right in most cases: what a fit through the judge's eyes promises is kept with the judge, by
// a test and live; what one through the truth's eyes promises is not.
TEST(WhoseEyes, PromisesAreKeptByTheEyesThatTheyWereMadeWith) {
  const TraceLaw law(0.3);
  const TraceTable table = test::drawn_table(law, 1000, 21), fresh = test::drawn_table(law, 4000, 22);
  const auto covers = [](const Interval& promise, double kept) { return promise.low <= kept && kept <= promise.high; };
  const CascadeFit seen = fit_cascade(table, settings_at(10.0, "score"));
  ASSERT_GT(seen.cascade->options().order.size(), 1u);
  const double kept = judge_cascade(*seen.cascade, "c", fresh, "", "score").worth.utility.value;
  EXPECT_TRUE(covers(seen.promise.utility, kept)) << kept;
  EXPECT_NEAR(test::live_utility(*seen.cascade, fresh, fresh.scores[0].values), kept, 1e-12);
  EXPECT_TRUE(covers(seen.promise.utility, test::worth_under(law, *seen.cascade).utility));
  const CascadeFit blind = fit_cascade(table, settings_at(10.0, "quality"));
  const JudgedCascade with_judge = judge_cascade(*blind.cascade, "c", fresh, "", "score");
  EXPECT_LT(with_judge.worth.utility.high, blind.promise.utility.low);
  EXPECT_NEAR(test::live_utility(*blind.cascade, fresh, fresh.scores[0].values), with_judge.worth.utility.value, 1e-12);
  EXPECT_LT(with_judge.worth.utility.value, kept);
  EXPECT_THAT(judged_table(with_judge).notes[0],
              HasSubstr("made to see quality, for which the promise was; here it sees score"));
  EXPECT_TRUE(covers(blind.promise.utility, judge_cascade(*blind.cascade, "c", fresh, "").worth.utility.value));
}

}  // namespace
}  // namespace pandora
