// Tables as other programs write them: words for missing values and for true and false, given separators, lists,
// objects as texts, judges without truth, and prompts that are made from other columns.
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReadWordsTest : public test::TraceTest {
 protected:
  const TraceOptions drop_ = {.missing = MissingCells::drop};
};

TEST_F(ReadWordsTest, WordsForNothingAreMissingCells) {
  for (const std::string word : {"", "NA", "NaN", "nan", "None", "null", "N/A", "NULL", "-", "#N/A", "<NA>", " NA "}) {
    const std::string csv = "prompt_id,a,a|cost\np,1,1\nq," + word + ",1\nr,0.5," + word + "\n";
    EXPECT_THAT(refusal(csv), StartsWith("2 of 3 prompts lack a cell; the first is prompt \"q\": no quality")) << word;
    EXPECT_THAT(read(csv, drop_).quality, ElementsAre(1)) << word;
    const std::string json = R"({"id": "p", "models": {"a": {"quality": 1, "cost": 1}}})"
                             "\n"
                             R"({"id": "q", "models": {"a": {"quality": ")" +
                             word + R"(", "cost": 1}}})";
    EXPECT_EQ(read(json, drop_).rows(), 1u) << word;
    EXPECT_EQ(read(json, {.holes = true}).unlabelled(), 1u) << word;
  }
  EXPECT_THAT(refusal("a,a|cost\n--,1\n"), HasSubstr("\"--\" is not a number"));
}

TEST_F(ReadWordsTest, WordsForNothingMakeNoWordsOfNumbers) {
  const TraceTable table = read("x,word,a,a|cost\n1,NA,1,1\nNA,None,1,1\n3,-,1,1\n");
  EXPECT_EQ(table.columns[0].kind, PromptColumn::Kind::number);
  EXPECT_TRUE(std::isnan(table.columns[0].numbers[1]));
  EXPECT_EQ(table.columns[1].kind, PromptColumn::Kind::text);  // a column without numbers has words
  EXPECT_EQ(table.columns[1].texts[1], "None");
}

TEST_F(ReadWordsTest, TruthValuesAreOneAndZero) {
  const char* const note = "truth values of quality are read as 1 (True, yes) and 0 (False, no)";
  for (const char* text : {"prompt_id,a,a|cost,b,b|cost\np,True,1,FALSE,1\nq,false,1,0.5,1\nr,NA,1,no,1\n",
                           "prompt_id,a,a|cost,b,b|cost\np,TRUE,1,0.5,1\nq,no,1,0.25,1\n"}) {
    const bool mixed = std::string_view(text).find("FALSE") != std::string_view::npos;
    if (mixed)
      EXPECT_THAT(refusal(text), StartsWith("row 2 (line 3), column \"b\": holds truth values (true, false) in some"));
    else
      EXPECT_THAT(read(text).quality, ElementsAre(1, 0.5, 0, 0.25));  // each column is read by itself
  }
  const std::string csv =
      "prompt_id,model,quality,cost,score\np,a,True,1,yes\np,b,false,1,no\nq,a,true,1,yes\nq,b,no,1,yes\n";
  const std::string json =
      R"({"id": "p", "models": {"a": {"quality": true, "cost": 1}, "b": {"quality": false, "cost": 1}}}
{"id": "q", "models": {"a": {"quality": true, "cost": 1}, "b": {"quality": false, "cost": 1}}})";
  for (const std::string& text : {csv, json}) {
    const TraceTable table = read(text);
    EXPECT_THAT(table.quality, ElementsAre(1, 0, 1, 0));
    EXPECT_THAT(table.notes, Contains(note));
  }
  EXPECT_THAT(refusal("prompt_id,model,quality,cost\np,a,True,1\nq,a,1,1\n"), HasSubstr("; write 1 and 0"));
  EXPECT_THAT(refusal("a,a|cost\n1,true\n"), HasSubstr("column \"a|cost\": \"true\" is not a number"));
  EXPECT_THAT(refusal("a,a|cost\ntrue,1\n", {.scale = {{"quality", 1, 5}}}), HasSubstr("\"true\" is not a number"));
}

TEST_F(ReadWordsTest, SignsAreRefusedWithTheRemedy) {
  EXPECT_THAT(refusal("a,a|cost\n85%,1\n"), HasSubstr("\"85%\" is not a number; write a share, such as 0.85 for 85%"));
  EXPECT_THAT(refusal("a,a|cost\n1,\"$1,000\"\n"), HasSubstr("is not a number; write dollars without a sign"));
}

TEST_F(ReadWordsTest, ASeparatorThatIsSaidIsTaken) {
  const TraceTable plain = read("prompt_id,a,a|cost\np,1,1\n");
  for (const char* text : {"sep=;\nprompt_id;a;a|cost\np;1;1\n", "\xEF\xBB\xBFsep=,\r\nprompt_id,a,a|cost\r\np,1,1\r\n",
                           "sep=\t\nprompt_id\ta\ta|cost\np\t1\t1\n", "sep=^\nprompt_id^a^a|cost\np^1^1\n"})
    EXPECT_EQ(content_digest(read(text)), content_digest(plain)) << text;
  EXPECT_THAT(refusal("sep=;\nprompt_id;a;a|cost\np;x;1\n"), StartsWith("row 1 (line 3), column \"a\""));
  EXPECT_EQ(refusal("sep=;\n"), "is empty");
}

TEST_F(ReadWordsTest, AListIsReadAsItIsInAFolder) {
  const std::string rows = R"({"prompt_id": "p", "model": "a", "quality": 1, "cost": 1},
 {"prompt_id": "q", "model": "a", "quality": 0.5, "cost": 2})";
  const TraceTable table = read("[\n " + rows + "\n]\n");
  EXPECT_THAT(table.quality, ElementsAre(1, 0.5));
  EXPECT_EQ(table.source, (base_ / "table").string());
  const std::string text = R"([{"prompt_id": "p", "quality": 1, "cost": 1}])";
  EXPECT_THAT(read_trace(write(text, "gpt.json")).models, ElementsAre("gpt"));  // the file has one model's answers
  EXPECT_THAT(refusal("[1]"), StartsWith("row 1: is no object"));
  EXPECT_THAT(refusal("[" + rows), StartsWith("is not one JSON value"));
  EXPECT_THAT(refusal(R"([{"a": 1}])"), HasSubstr("its first object has the members \"a\""));
}

TEST_F(ReadWordsTest, AnswersAsTheTextOfAnObjectAreTheObject) {
  const std::string object = R"({"a": {"quality": 1, "cost": 1}, "b": {"quality": 0.5, "cost": 2}})";
  const TraceTable plain = read(R"({"id": "p", "x": 2, "models": )" + object + "}");
  const std::string as_text = nlohmann::json(object).dump();
  EXPECT_EQ(content_digest(read(R"({"id": "p", "x": 2, "models": )" + as_text + "}")), content_digest(plain));
  EXPECT_EQ(content_digest(read("id,x,models\np,2," + test::csv_field(object) + "\n")), content_digest(plain));
  const std::string python = "{'a': {'quality': 1, 'cost': 1}}";
  for (const std::string& text : {R"({"id": "p", "models": ")" + python + "\"}", "id,models\np,\"" + python + "\"\n",
                                  std::string("id,models\np,\n")})
    EXPECT_THAT(refusal(text), HasSubstr("is a text that is no JSON object")) << text;
  EXPECT_THAT(refusal("id,models\np,\"" + python + "\"\n"), HasSubstr("the text of json.dumps"));
}

TEST_F(ReadWordsTest, AJudgesScoresCanBeTakenForTheQuality) {
  const TraceOptions judged{.quality = "score"}, alone{.scores_alone = true},
      third{.scale = {{"score:b", 0, 10}}, .quality = "score:b"};
  const std::string wide = "prompt_id,a|cost,a|score,b|cost,b|score\np,1,0.5,2,1\nq,1,0,2,0.25\n";
  const std::string longer = "prompt_id,model,cost,score\np,a,1,0.5\np,b,2,1\nq,a,1,0\nq,b,2,0.25\n";
  const std::string nested = R"({"id": "p", "models": {"a": {"cost": 1, "score": 0.5}, "b": {"cost": 2, "score": 1}}}
{"id": "q", "models": {"a": {"cost": 1, "score": 0}, "b": {"cost": 2, "score": 0.25}}})";
  const std::string lines = R"({"id": "p", "model": "a", "cost": 1, "score": 0.5}
{"id": "p", "model": "b", "cost": 2, "score": 1}
{"id": "q", "model": "a", "cost": 1, "score": 0}
{"id": "q", "model": "b", "cost": 2, "score": 0.25})";
  for (const std::string& text : {wide, longer, nested, lines}) {
    EXPECT_THAT(refusal(text), HasSubstr("scores and no quality; to use the scores as the quality")) << text;
    for (const TraceOptions& options : {judged, alone}) {
      const TraceTable table = read(text, options);
      EXPECT_THAT(table.quality, ElementsAre(0.5, 1, 0, 0.25)) << text;
      EXPECT_EQ(table.judged_by, "score");
      EXPECT_THAT(table.notes, ElementsAre(HasSubstr("assumes")));
    }
  }
  const std::string both = "prompt_id,model,quality,cost,score_b\np,a,1,1,7\n";
  EXPECT_THAT(read(both, third).quality, ElementsAre(0.7));
  EXPECT_THAT(read("a,a|cost,a|score\n1,1,0\n", alone).quality, ElementsAre(1));  // this table has a quality
  EXPECT_THAT(refusal("a,a|cost,a|score_c\n1,1,0\n", judged), StartsWith("has no score \"score\""));
}

TEST_F(ReadWordsTest, QualityMayHaveAnyName) {
  const TraceOptions options{.scale = {{"quality", 1, 2}}, .quality = "preference"};
  for (const char* text : {"prompt_id,model,preference,cost\np,a,1.31,1\n", "prompt_id,a|preference,a|cost\np,1.31,1\n",
                           R"({"id": "p", "model": "a", "preference": 1.31, "cost": 1})",
                           R"({"id": "p", "models": {"a": {"preference": 1.31, "cost": 1}}})"})
    EXPECT_DOUBLE_EQ(read(text, options).quality[0], 0.31) << text;
  EXPECT_EQ(refusal(R"({"id": "p", "models": {"a": {"quality": 1, "cost": 1}}})", options),
            "no answer has a \"preference\", which was named as the quality (quality, --quality)");
}

TEST_F(ReadWordsTest, OtherColumnsMayMakeAPrompt) {
  const TraceOptions one{.prompt_key = {"context"}}, both{.prompt_key = {"question", "context"}};
  for (
      const char* text :
      {"question,context,model,quality,cost\nq,c1,a,1,1\nq,c2,a,0,1\nq,c1,b,1,1\nq,c2,b,1,1\n",
       "question,context,a,a|cost,b,b|cost\nq,c1,1,1,1,1\nq,c2,0,1,1,1\n",
       R"({"question": "q", "context": "c1", "models": {"a": {"quality": 1, "cost": 1}, "b": {"quality": 1, "cost": 1}}}
{"question": "q", "context": "c2", "models": {"a": {"quality": 0, "cost": 1}, "b": {"quality": 1, "cost": 1}}})"}) {
    const TraceTable table = read(text, one);
    EXPECT_THAT(table.quality, ElementsAre(1, 1, 0, 1)) << text;
    EXPECT_EQ(table.prompts[1], "c2");
    EXPECT_EQ(table.text(0), "q");  // it stays the prompt's text
    EXPECT_EQ(group_prompts(table).count, 2u);
    EXPECT_EQ(read(text, both).prompts[0], "q | c1");
    EXPECT_THAT(table.notes, IsEmpty());
  }
  EXPECT_THAT(refusal("contest,a,a|cost\nx,1,1\n", one),
              StartsWith("has no column \"context\"; the nearest is contest"));
  const std::string twice = "context,question,a,a|cost\nx,q,1,1\nx,r,1,1\n";
  EXPECT_THAT(refusal(twice, one), HasSubstr("; the first is row 2, whose name is that of row 1: \"x\"."));
  EXPECT_EQ(group_prompts(read(twice, {.prompt_key = {"context"}, .repeats = true})).count, 1u);
}

TEST_F(ReadWordsTest, SecondsThatLookLikeMillisecondsAreTold) {
  EXPECT_THAT(read("a,a|cost,a|latency\n1,1,640\n1,1,60\n1,1,\n1,1,700\n").notes,
              ElementsAre(StartsWith("latency: the median is 640, but the unit must be seconds")));
  EXPECT_THAT(read("a,a|cost,a|latency\n1,1,60\n1,1,640\n1,1,6\n").notes, IsEmpty());
}

TEST_F(ReadWordsTest, AModelThatNeverCostsAnythingIsRefused) {
  const std::string text = "a,a|cost,b,b|cost\n1,0,1,1\n1,0,1,1\n";
  for (const TraceOptions& options : {TraceOptions(), drop_})
    EXPECT_THAT(refusal(text, options), StartsWith("model \"a\" costs 0 for all of 2 prompts. If that is right"));
  EXPECT_EQ(read(text, {.free_calls = true}).rows(), 2u);
  EXPECT_EQ(read(text, {.prices = {{"a", {0, 0}}}}).rows(), 2u);
}

TEST_F(ReadWordsTest, ANameWithACommaIsToldToStandInQuotes) {
  EXPECT_THAT(refusal("\"a,b\",\"a,b|cost\"\n1,1\n", {.models = {"a"}}), HasSubstr("--models '\"a,b\"'"));
  EXPECT_EQ(read("\"a,b\",\"a,b|cost\"\n1,1\n", {.models = {"a,b"}}).rows(), 1u);
}

}  // namespace
}  // namespace pandora
