// Files with logs of decisions, and with tables in which qualities are missing.
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::NanSensitiveDoubleEq;

const TraceOptions kHoles = {.holes = true};

class ReadLog : public test::TraceTest {};

constexpr const char* kCsv =
    "decision,prompt_id,model,quality,cost,score,propensity,label_propensity,topic\n"
    "d1,p1,b,0.5,0.2,0.6,0.25,0.5,x\n"
    "d1,p1,a,,0.1,0.4,1,0.5,x\n"
    "d2,p1,a,1,0.1,0.9,1,0.5,x\n";

TEST_F(ReadLog, RowsAreDecisionsAndCellsAreCalls) {
  const TraceTable log = read(kCsv, kHoles);
  EXPECT_THAT(log.models, ElementsAre("b", "a"));
  ASSERT_EQ(log.rows(), 2u);
  EXPECT_EQ(log.prompts[0], "p1");
  EXPECT_EQ(log.prompts[1], "p1");
  EXPECT_EQ(group_prompts(log).count, 1u);
  ASSERT_TRUE(log.log);
  EXPECT_THAT(log.quality, ElementsAre(0.5, IsNan(), IsNan(), 1.0));
  EXPECT_THAT(log.cost, ElementsAre(0.2, 0.1, IsNan(), 0.1));
  EXPECT_THAT(log.scores[0].values, ElementsAre(0.6, 0.4, IsNan(), 0.9));
  EXPECT_THAT(log.log->propensity, ElementsAre(0.25, 1.0, IsNan(), 1.0));
  EXPECT_THAT(log.log->place, ElementsAre(1.0, 2.0, IsNan(), 1.0));
  EXPECT_THAT(log.label_propensity, ElementsAre(0.5, 0.5, IsNan(), 0.5));
  EXPECT_EQ(log.unlabelled(), 1u);
  EXPECT_EQ(log.columns[0].texts[1], "x");
}

// A call of a model that is not kept still counts as a call, so the next call is not the first.
TEST_F(ReadLog, CallsOfOtherModelsHaveTheirPlaces) {
  EXPECT_THAT(read(kCsv, {.holes = true, .models = {"a"}}).log->place, ElementsAre(2.0, 1.0));
  EXPECT_THAT(read(kCsv, {.holes = true, .models = {"b"}}).log->place, ElementsAre(1.0, IsNan()));
}

TEST_F(ReadLog, JsonLinesSayTheSame) {
  const std::string lines =
      "{\"decision\":\"d1\",\"prompt_id\":\"p1\",\"model\":\"b\",\"quality\":0.5,\"cost\":0.2,\"score\":0.6,"
      "\"propensity\":0.25,\"label_propensity\":0.5,\"topic\":\"x\"}\n"
      "{\"decision\":\"d1\",\"prompt_id\":\"p1\",\"model\":\"a\",\"quality\":null,\"cost\":0.1,\"score\":0.4,"
      "\"propensity\":1,\"label_propensity\":0.5,\"topic\":\"x\"}\n"
      "{\"decision\":\"d2\",\"prompt_id\":\"p1\",\"model\":\"a\",\"quality\":1,\"cost\":0.1,\"score\":0.9,"
      "\"propensity\":1,\"label_propensity\":0.5,\"topic\":\"x\"}\n";
  EXPECT_EQ(content_digest(read(lines, kHoles)), content_digest(read(kCsv, kHoles)));
}

TEST_F(ReadLog, PartsOfALogKeepWhatItSays) {
  const TraceTable log = read(kCsv, kHoles);
  const TraceTable second = select_rows(log, std::vector<std::size_t>{1});
  EXPECT_THAT(second.log->propensity, ElementsAre(IsNan(), 1.0));
  const TraceTable a = select_models(log, {"a"});
  EXPECT_THAT(a.log->place, ElementsAre(2.0, 1.0));
  EXPECT_THAT(a.label_propensity, ElementsAre(0.5, 0.5));
  EXPECT_NE(content_digest(a), content_digest(log));
}

TEST_F(ReadLog, WhatACallLacksIsRefused) {
  const auto with = [](const std::string& row) { return std::string(kCsv) + row + "\n"; };
  EXPECT_THAT(refusal(with("d3,p2,a,1,,0.9,1,0.5,x"), kHoles), HasSubstr("a call has no cost"));
  EXPECT_THAT(refusal(with("d3,p2,a,1,0.1,0.9,,0.5,x"), kHoles), HasSubstr("a call has no propensity"));
  EXPECT_THAT(refusal(with("d3,p2,a,1,0.1,,1,0.5,x"), kHoles), HasSubstr("a call has no score"));
  EXPECT_THAT(refusal(with("d3,p2,a,1,0.1,0.9,0,0.5,x"), kHoles), HasSubstr("propensity is 0; an event that happened"));
  EXPECT_THAT(refusal(with("d3,p2,a,1,0.1,0.9,1.5,0.5,x"), kHoles), HasSubstr("outside [0, 1]"));
  EXPECT_THAT(refusal(with("d1,p1,a,1,0.1,0.9,1,0.5,x"), kHoles), HasSubstr("model \"a\" has"));
  EXPECT_THAT(refusal(kCsv), HasSubstr("is a log of decisions"));
}

// If missing qualities are not allowed, a missing quality is a missing cell.
TEST_F(ReadLog, ATableMayLackQualities) {
  const std::string csv =
      "prompt_id,model,quality,cost,score\np1,a,0.5,1,0.4\np1,b,,1,0.3\np2,a,,1,0.2\np2,b,1,1,0.9\n";
  const TraceTable table = read(csv, kHoles);
  EXPECT_FALSE(table.log);
  EXPECT_THAT(table.quality, ElementsAre(0.5, IsNan(), IsNan(), 1.0));
  EXPECT_EQ(table.unlabelled(), 2u);
  EXPECT_THAT(refusal(csv), HasSubstr("no quality of model \"b\""));
  EXPECT_THAT(refusal("prompt_id,model,quality,cost,score\np1,a,0.5,1,0.4\np1,b,,1,\n", kHoles),
              HasSubstr("no score of model"));
}

}  // namespace
}  // namespace pandora
