// Every form of a file gives the same table.
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using Kind = PromptColumn::Kind;
using testing::ElementsAre;

class ReadTraceTest : public test::TraceTest {};

void expect_equal(const TraceTable& a, const TraceTable& b) {
  EXPECT_EQ(a.models, b.models);
  EXPECT_EQ(a.quality, b.quality);
  EXPECT_EQ(a.columns.size(), b.columns.size());
  EXPECT_EQ(a.text_column, b.text_column);
  EXPECT_EQ(content_digest(a), content_digest(b));  // depends on all of the content
}

TEST_F(ReadTraceTest, GivesTheSameTableInEveryForm) {
  const TraceTable table = test::small_table();
  for (const std::string& text :
       {test::as_csv(test::wide_rows(table)), test::as_csv(test::wide_rows(table), "\r\n"),
        "\xEF\xBB\xBF" + test::as_csv(test::wide_rows(table)), test::as_csv(test::long_rows(table)),
        test::as_jsonl(test::long_rows(table)), test::as_jsonl(test::nested_rows(table)),
        "\xEF\xBB\xBF\n" + test::as_jsonl(test::nested_rows(table)) + "\n  \n"}) {
    SCOPED_TRACE(text);
    const TraceTable found = read(text);
    expect_equal(found, table);
    EXPECT_EQ(found.source, (base_ / "table").string());
    EXPECT_EQ(found.dropped, 0u);
    EXPECT_EQ(found.notes, std::vector<std::string>{});
  }
}

TEST_F(ReadTraceTest, GivesTheSameTableOverManyPieces) {
  // Rows cross the borders of the pieces in which files are read, and some lines are longer than a piece.
  std::string csv = "prompt_id,prompt,a,a|cost,b,b|cost\n", jsonl;
  for (int row = 0; row < 3000; ++row) {
    const std::string prompt = std::string(row == 1500 ? 3 << 20 : 1000 + row % 7, 'x') + "\n" + std::to_string(row);
    csv += fmt::format("{},{},0.5,{},0.25,1\n", row, test::csv_field(prompt), row + 1);
    const nlohmann::ordered_json line = {
        {"prompt_id", row},
        {"prompt", prompt},
        {"arms", {{"a", {{"reward", 0.5}, {"cost", row + 1}}}, {"b", {{"reward", 0.25}, {"cost", 1}}}}}};
    jsonl += line.dump() + "\n";
  }
  const TraceTable table = read(csv);
  expect_equal(table, read(jsonl));
  EXPECT_EQ(table.rows(), 3000u);
  EXPECT_EQ(table.text(2999).substr(table.text(2999).size() - 5), "\n2999");
  EXPECT_EQ(table.cost[2 * 2999], 3000);
}

TEST_F(ReadTraceTest, ReadsWhatRouterBenchHas) {
  const TraceTable table = read(
      ",sample_id,prompt,eval_name,gpt-4,small,gpt-4|model_response,small|model_response,gpt-4|total_cost,"
      "small|total_cost,oracle_model_to_route_to\n"
      "0,mmlu.1,\"[\"\"What?\"\"]\",mmlu,1.0,0.0,\"A, I think\",B,0.01,0.0002,gpt-4\n"
      "1,mmlu.2,\"[\"\"Who?\"\"]\",mmlu,0.25,0.75,C,D,0.02,0.0001,small\n");
  EXPECT_THAT(table.models, ElementsAre("gpt-4", "small"));
  EXPECT_EQ(table.prompts[1], "mmlu.2");
  EXPECT_THAT(table.quality, ElementsAre(1, 0, 0.25, 0.75));
  EXPECT_THAT(table.cost, ElementsAre(0.01, 0.0002, 0.02, 0.0001));
  ASSERT_EQ(table.columns.size(), 3u);  // the index and the answers are no columns of prompts
  EXPECT_EQ(table.columns[1].name, "eval_name");
  EXPECT_EQ(table.text(0), "[\"What?\"]");
}

TEST_F(ReadTraceTest, CountsRowsWherePromptsHaveNoNames) {
  const TraceTable table = read("text,a,a|cost\none,0,1\n\ntwo,1,1\n");
  EXPECT_FALSE(table.named_prompts);
  EXPECT_EQ(table.prompts[1], "2");
  EXPECT_EQ(table.text(1), "two");
}

TEST_F(ReadTraceTest, TakesModelsInTheOrderThatIsAskedFor) {
  const TraceTable table = test::small_table();
  for (const std::string& text : {test::as_csv(test::wide_rows(table)), test::as_csv(test::long_rows(table)),
                                  test::as_jsonl(test::long_rows(table)), test::as_jsonl(test::nested_rows(table))}) {
    expect_equal(read(text, {.models = {"small", "vendor/big"}}), select_models(table, {"small", "vendor/big"}));
    const TraceTable one = read(text, {.models = {"small"}});
    EXPECT_THAT(one.quality, ElementsAre(0, 0.25, 0.3, 1, 0.7));
    EXPECT_EQ(one.columns.size(), 4u);
  }
}

TEST_F(ReadTraceTest, LooksAtNoCellThatIsNotKept) {
  const std::string text = "a,a|cost,a|score,a|score_2,b,b|cost,b|score,b|score_2\n1,0.5,0.5,x,nonsense,,-3,\n";
  const TraceTable table = read(text, {.models = {"a"}, .scores = {{"score"}}});
  EXPECT_THAT(table.quality, ElementsAre(1));
  ASSERT_EQ(table.scores.size(), 1u);
  EXPECT_EQ(table.scores[0].name, "score");
  EXPECT_TRUE(read(text, {.models = {"a"}, .scores = std::vector<std::string>()}).scores.empty());
}

TEST_F(ReadTraceTest, FindsAnswersOfALongTableInAnyOrder) {
  const TraceTable table = read(
      "model,prompt_id,quality,cost,prompt,seconds\n"
      "b,p2,0.1,2,second,7\nb,p1,0.2,2,first,8\na,p1,0.3,1,first,9\na,p2,0.4,1,,7\n");
  EXPECT_THAT(table.models, ElementsAre("b", "a"));
  EXPECT_EQ(table.prompts[0], "p2");
  EXPECT_THAT(table.quality, ElementsAre(0.1, 0.4, 0.2, 0.3));
  EXPECT_EQ(table.text(0), "second");  // a row may lack a value that another row of the prompt has
  EXPECT_EQ(find_column(table, "seconds"), nullptr);
  EXPECT_THAT(
      table.notes,
      ElementsAre(
          "column \"seconds\" differs between rows of the same prompt: it belongs to the answers and is left out "
          "(a judge's scores are called score, score_NAME or score:NAME)"));
}

TEST_F(ReadTraceTest, AModelWhoseCostsHaveAnotherNameIsNoted) {
  const TraceTable table = read("small,small|cost,big,big_cost,words\n0.5,1,0.9,20,3\n0.6,1,0.8,21,4\n", {});
  EXPECT_THAT(table.models, ElementsAre("small"));
  EXPECT_THAT(table.notes,
              ElementsAre("columns \"big\" and \"big_cost\" are read as columns of the prompts; if big is a model, "
                          "call its costs \"big|cost\""));
}

TEST_F(ReadTraceTest, TakesTheFirstNameOfPromptsThatThereIs) {
  const TraceTable table = read(R"({"id": "x", "sample_id": 7, "models": {"a": {"quality": 1, "cost": 1}}})");
  EXPECT_EQ(table.prompts[0], "7");
  EXPECT_NE(find_column(table, "id"), nullptr);
}

TEST_F(ReadTraceTest, KnowsKindsOfColumns) {
  const TraceTable csv =
      read("n,v,mixed,empty,prompt,a,a|cost\n 1.5 ,\"[1, 2e-1]\",3,,1,0,1\n,,x,,2,0,1\n-0,\"[3,4]\",,,3,0,1\n");
  EXPECT_EQ(csv.columns[0].kind, Kind::number);
  EXPECT_TRUE(std::isnan(csv.columns[0].numbers[1]));
  EXPECT_FALSE(std::signbit(csv.columns[0].numbers[2]));
  EXPECT_EQ(csv.columns[1].kind, Kind::vector);
  EXPECT_EQ(csv.columns[1].numbers[1], 0.2);
  EXPECT_TRUE(std::isnan(csv.columns[1].numbers[2]));
  EXPECT_EQ(csv.columns[2].kind, Kind::text);
  EXPECT_EQ(csv.columns[3].kind, Kind::text);
  EXPECT_EQ(csv.columns[4].kind, Kind::text);  // it is the prompt's text, although it looks like numbers
  const TraceTable json = read(
      R"({"n": null, "m": 1, "l": [], "o": {"k": [1, "x"]}, "b": true, "models": {"a": {"quality": 1, "cost": 1, "near_best": false}}}
{"n": 2, "m": "x", "new": [1], "models": {"a": {"cost": 1, "quality": 1}}})");
  EXPECT_EQ(json.columns[0].kind, Kind::number);
  EXPECT_TRUE(std::isnan(json.columns[0].numbers[0]));
  EXPECT_EQ(json.columns[1].texts[0], "1");
  EXPECT_EQ(json.columns[2].texts[0], "[]");
  EXPECT_EQ(json.columns[3].texts[0], "{\"k\":[1,\"x\"]}");
  EXPECT_EQ(json.columns[4].texts[0], "true");
  EXPECT_EQ(json.columns[4].texts[1], "");
  EXPECT_EQ(json.columns[5].kind, Kind::vector);
  EXPECT_TRUE(std::isnan(json.columns[5].numbers[0]));
}

TEST_F(ReadTraceTest, DropsRowsThatLackACellOrAPrice) {
  const std::string text = "prompt_id,a,a|cost,b,b|cost\np1,1,2,0,1\np2,,2,0,1\np3,1,0,0,1\np4,1,2,0,\np5,0.5,3,1,1\n";
  const TraceTable table = read(text, {.missing = MissingCells::drop});
  EXPECT_EQ(table.dropped, 3u);
  EXPECT_THAT(table.notes, ElementsAre("3 prompts of the file are left out: a cell or a price is missing"));
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.prompts[1], "p5");
  EXPECT_THAT(table.quality, ElementsAre(1, 0, 0.5, 1));
  EXPECT_EQ(read(text, {.missing = MissingCells::drop, .models = {"b"}}).rows(), 4u);
}

TEST_F(ReadTraceTest, SaysHowFarItIs) {
  const std::string text = test::as_csv(test::wide_rows(test::small_table()));
  TraceOptions options;
  std::uint64_t done = 0, total = 0;
  options.progress = [&](std::uint64_t d, std::uint64_t t) { done = d, total = t; };
  (void)read(text, options);
  EXPECT_EQ(done, text.size());
  EXPECT_EQ(total, text.size());
  options.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("stop"); };
  EXPECT_THROW((void)read(text, options), std::runtime_error);
}

}  // namespace
}  // namespace pandora
