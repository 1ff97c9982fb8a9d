// What a table says of its models and judges, and `trace check` as data.
#include "host/cascades/fits/trace_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pandora/error.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

TraceTable four_prompts() {
  TraceTable table;
  table.source = "four.csv";
  table.models = {"a", "b"};
  for (const char* name : {"1", "2", "3", "4"}) table.prompts.push_back(name);
  table.quality = {0.2, 0.5, 0.4, 0.5, 0.6, 0.5, 0.8, 0.5};
  table.cost = {0.001, 0.01, 0.002, 0.02, 0.003, 0.03, 0.006, 0.04};
  table.scores = {{"score", {0.1, 1.0, 0.2, 0.05, 0.3, 0.95, 0.4, 0.15}}};
  return table;
}

TEST(TableFacts, AreThoseOfTheColumns) {
  const TableFacts facts = table_facts(four_prompts());
  EXPECT_EQ(facts.prompts, 4u);
  EXPECT_NEAR(facts.models[0].quality.mean, 0.5, 1e-12);
  EXPECT_EQ(facts.models[0].quality.least, 0.2);
  EXPECT_EQ(facts.models[0].quality.greatest, 0.8);
  EXPECT_NEAR(facts.models[0].usd_per_1000.mean, 3.0, 1e-12);
  EXPECT_NEAR(facts.models[1].usd_per_1000.greatest, 40.0, 1e-12);
  EXPECT_NEAR(facts.correlation[0], 1.0, 1e-12);
  EXPECT_TRUE(std::isnan(facts.correlation[1]));  // b does not vary
  ASSERT_EQ(facts.evaluators.size(), 1u);
  const EvaluatorFacts& judge = facts.evaluators[0];
  EXPECT_NEAR(judge.models[0].correlation, 1.0, 1e-12);
  EXPECT_TRUE(std::isnan(judge.models[1].correlation));
  std::size_t answers = 0;
  for (const ScoreTenth& tenth : judge.tenths) answers += tenth.answers;
  EXPECT_EQ(answers, 8u);
  EXPECT_EQ(judge.tenths[9].answers, 2u);  // 1.0 is in the last tenth
  EXPECT_NEAR(judge.tenths[9].score, 0.975, 1e-12);
  EXPECT_EQ(judge.tenths[1].answers, 2u);
  EXPECT_NEAR(judge.tenths[1].quality, 0.35, 1e-12);
  EXPECT_TRUE(std::isnan(judge.tenths[5].quality));
}

TEST(TableFacts, CorrelationIsPearsons) {
  EXPECT_NEAR(correlation(std::vector<double>{1, 2, 3, 4}, std::vector<double>{2, 1, 4, 3}), 0.6, 1e-12);
  EXPECT_TRUE(std::isnan(correlation(std::vector<double>{0.1, 0.1, 0.1}, std::vector<double>{1, 2, 3})));
}

// The share is measured where the judge was not calibrated: near 0 for a judge that says nothing, 1 for the truth.
TEST(TableFacts, ExplainedIsOutOfSample) {
  test::Random random(2);
  for (const auto& [noise, least, greatest] :
       {std::tuple{1.0, -0.05, 0.02}, {0.0, 1.0 - 1e-12, 1.0}, {0.4, 0.2, 0.6}}) {
    const TraceTable table = test::TraceLaw(noise).draw(600, random);
    const EvaluatorFacts judge = table_facts(table).evaluators[0];
    EXPECT_GE(judge.all.explained, least) << noise;
    EXPECT_LE(judge.all.explained, greatest) << noise;
  }
}

TEST(TableFacts, UsefulModelsComeFirst) {
  TraceTable table = four_prompts();
  table.models = {"poor", "good", "complement", "twin"};
  table.prompts = {};
  for (const char* name : {"1", "2"}) table.prompts.push_back(name);
  table.quality = {0.1, 0.9, 0.4, 0.8, 0.1, 0.2, 0.8, 0.2};
  table.cost.assign(8, 0.0);
  EXPECT_EQ(models_by_usefulness(table, 5.0), (std::vector<std::size_t>{2, 1, 0, 3}));
  table.cost = {0, 1, 0, 0, 0, 1, 0, 0};  // good is dear
  EXPECT_EQ(models_by_usefulness(table, 5.0), (std::vector<std::size_t>{2, 3, 0, 1}));
}

TEST(TraceCheck, JsonHasTheNamesThatAreDocumented) {
  const test::TraceLaw law(0.4);
  test::Random random(3);
  const TraceTable table = law.draw(200, random);
  const nlohmann::json json = trace_check_json(check_trace(table, "score", {5.0, 50.0}), table);
  EXPECT_EQ(json["rows"], 200);
  EXPECT_EQ(json["prompts"], 200);
  EXPECT_EQ(json["models"], (std::vector<std::string>{"small", "medium", "large"}));
  EXPECT_EQ(json["evaluator"], "score");
  EXPECT_EQ(json["facts"]["models"][2]["model"], "large");
  EXPECT_EQ(json["facts"]["correlation"][1].size(), 3u);
  EXPECT_EQ(json["facts"]["judges"][0]["score"], "score");
  EXPECT_EQ(json["facts"]["judges"][0]["tenths"].size(), 10u);
  ASSERT_EQ(json["prices"].size(), 2u);
  EXPECT_EQ(json["prices"][1]["price"], 50.0);
  for (const auto& price : json["prices"]) {
    for (const char* policy : {"best_single", "fixed_cascade", "index_policy", "bound"}) {
      const nlohmann::json& worth = price[policy];
      EXPECT_LT(worth["low"], worth["value"]) << policy;
      EXPECT_LT(worth["value"], worth["high"]) << policy;
      EXPECT_TRUE(worth["gain"]["value"].is_number() && worth["usd_per_1000"]["low"].is_number()) << policy;
    }
    EXPECT_EQ(price["fixed_cascade"]["thresholds"].size() + 1, price["fixed_cascade"]["order"].size());
    EXPECT_EQ(price["index_policy"]["order"].size(), 3u);
    EXPECT_EQ(price["routing"]["pays"], price["routing"]["gain"]["low"] > 0.0);
    EXPECT_THAT(json["verdict"].get<std::string>(), HasSubstr(price["verdict"].get<std::string>()));
  }
}

// Labels on a quarter of the answers double an interval, unless a judge knows the rest; calls of one model of three at random
// widen it by the root of three.
TEST(TraceCheck, SaysHowMuchWiderHolesMakeIntervals) {
  constexpr std::size_t kRows = 4000;
  test::Random random(8);
  for (const auto& [noise, known, one_call, widening] :
       {std::tuple{1.0, 0.25, false, 2.0}, {0.0, 0.25, false, 1.0}, {1.0, 1.0, true, std::sqrt(3.0)}}) {
    const TraceTable full = test::TraceLaw(noise).draw(kRows, random);
    TraceTable table = full;
    if (one_call) table.log.emplace();
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::size_t called = static_cast<std::size_t>(random.uniform(0, 3));
      for (std::size_t at = 3 * row; at < 3 * row + 3; ++at) {
        const bool made = !one_call || at % 3 == called;
        if (one_call) {
          table.log->place.push_back(made ? 1.0 : NAN);
          table.log->propensity.push_back(made ? 1.0 / 3.0 : NAN);
        }
        if (!made) table.cost[at] = table.scores[0].values[at] = NAN;
        if (!made || random.uniform(0, 1) >= known) table.quality[at] = NAN;
      }
    }
    const nlohmann::json json = trace_check_json(check_trace(table, "score", {}), table);
    for (std::size_t m = 0; m < 3; ++m) {
      const nlohmann::json& model = json["facts"]["models"][m];
      EXPECT_NEAR(model["times_as_wide"].get<double>(), widening, 0.1) << noise << " " << one_call;
      double mean = 0.0;
      for (std::size_t row = 0; row < kRows; ++row) mean += full.quality[3 * row + m] / kRows;
      const nlohmann::json& found = model["estimated_quality"];  // as wide as 1.96 errors of both
      EXPECT_NEAR(found["value"].get<double>(), mean,
                  2.0 * (found["high"].get<double>() - found["value"].get<double>()));
    }
  }
}

TEST(TraceCheck, TablesSayWhatTheJsonSays) {
  TraceTable table = four_prompts();
  table.notes = {"3 rows of the file are left out", "columns of other models are left out"};
  const TraceCheck check = check_trace(table, "score", {5.0});
  std::string text;
  for (const Table& part : trace_check_tables(check, table)) text += table_text(part, 200, false);
  for (const std::string& part :
       {std::string("4 prompts, 2 models"), std::string("3 rows of the file are left out"),
        std::string("columns of other models are left out"), std::string("Judges"), std::string("0.9 to 1.0"),
        std::string("Price 5: utility = quality - 5 x dollars, evaluator score"), "verdict: " + check.verdicts[0]})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(TraceCheck, RowsOfOnePromptAreSaid) {
  TraceTable table = four_prompts();
  PromptColumn text;
  text.name = "prompt";
  for (const char* prompt : {"x", "y", "x", "z"}) text.texts.push_back(prompt);
  table.columns = {text};
  table.text_column = 0;
  const TraceCheck check = check_trace(table, "quality", {5.0});
  EXPECT_EQ(check.facts.prompts, 3u);
  EXPECT_THAT(trace_check_tables(check, table)[0].notes[0], HasSubstr("intervals count 3 different prompts"));
}

TEST(TraceCheck, OfManyModelsTheUsefulOnesAreToBeNamed) {
  TraceTable table;
  table.source = "many.csv";
  for (int m = 0; m < 18; ++m) table.models.push_back("m" + std::to_string(m));
  for (int row = 0; row < 3; ++row) {
    table.prompts.push_back(std::to_string(row));
    for (int m = 0; m < 18; ++m) table.quality.push_back(m == 17 ? 0.9 : 0.5 - 0.01 * m);
  }
  table.cost.assign(table.quality.size(), 0.001);
  try {
    (void)check_trace(table, "quality", {5.0});
    ADD_FAILURE() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_THAT(error.what(), HasSubstr("many.csv: has 18 models; at most 16"));
    EXPECT_THAT(error.what(), HasSubstr("name those (models): m17,m0,"));
  }
}

}  // namespace
}  // namespace pandora
