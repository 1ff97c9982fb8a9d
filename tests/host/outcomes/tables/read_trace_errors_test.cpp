// Every fault of a table is refused with its place, the fault and the remedy.
#include <sys/stat.h>

#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ReadTraceErrorsTest : public test::TraceTest {};

// A wide table of one model and one prompt with this quality and cost.
std::string wide(const std::string& quality, const std::string& cost) {
  return "prompt_id,a,a|cost\np0,0,1\np1," + quality + "," + cost + "\n";
}

std::string nested(const std::string& quality, const std::string& cost) {
  return R"({"models": {"a": {"quality": 0, "cost": 1}}})"
         "\n\n"
         R"({"models": {"a": {"quality": )" +
         quality + ", \"cost\": " + cost + "}}}\n";
}

TEST_F(ReadTraceErrorsTest, NumbersThatAreNone) {
  EXPECT_EQ(refusal(wide("good", "1")), "row 2 (line 3), column \"a\": \"good\" is not a number");
  EXPECT_EQ(refusal(wide("1", "$2")),
            "row 2 (line 3), column \"a|cost\": \"$2\" is not a number; write dollars without a sign, such as 0.02");
  EXPECT_EQ(refusal(wide("0.5x", "1")), "row 2 (line 3), column \"a\": \"0.5x\" is not a number");
  EXPECT_EQ(refusal(nested("\"0.5\"", "1")),
            "row 2 (line 3), column \"models > a > quality\": \"0.5\" is not a number");
  EXPECT_EQ(refusal(nested("[1]", "1")), "row 2 (line 3), column \"models > a > quality\": \"[1]\" is not a number");
  EXPECT_EQ(refusal(nested("{}", "1")), "row 2 (line 3), column \"models > a > quality\": \"{}\" is not a number");
}

TEST_F(ReadTraceErrorsTest, NumbersThatCannotBe) {
  EXPECT_EQ(refusal(wide("1", "inf")), "row 2 (line 3), column \"a|cost\": inf is not finite");
  EXPECT_THAT(refusal(wide("1.01", "1")), StartsWith("row 2 (line 3), column \"a\": 1.01 is outside [0, 1]; rescale"));
  EXPECT_THAT(refusal(wide("-0.1", "1")), StartsWith("row 2 (line 3), column \"a\": -0.1 is outside [0, 1]"));
  EXPECT_THAT(refusal(wide("1", "-1e-9")), StartsWith("row 2 (line 3), column \"a|cost\": -1e-09 is negative"));
  EXPECT_THAT(refusal(nested("7", "1")), StartsWith("row 2 (line 3), column \"models > a > quality\": 7 is outside"));
  EXPECT_THAT(refusal("a,a|cost,a|score\n1,1,5\n"), StartsWith("row 1 (line 2), column \"a|score\": 5 is outside"));
  EXPECT_THAT(refusal(nested("1e999", "1")), StartsWith("row 2 (line 3): is not a JSON object"));
  EXPECT_THAT(refusal(nested("1", "NaN")), HasSubstr("; JSON has no NaN or Infinity, write null"));
}

TEST_F(ReadTraceErrorsTest, NumbersOfPromptsThatAreNotFinite) {
  EXPECT_EQ(refusal("prompt_id,size,a,a|cost\np1,1,1,1\np2,-inf,1,1\n"),
            "column \"size\", prompt \"p2\": -inf is not finite; leave the cell empty where nothing is known");
  EXPECT_THAT(refusal("prompt_id,model,quality,cost,size\np1,a,1,1,2\np2,a,1,1,inf\n"),
              StartsWith("column \"size\", prompt \"p2\": inf is not finite"));
  const TraceTable table = read("size,word,a,a|cost\n1,inf,1,1\nnan,x,1,1\n");
  EXPECT_EQ(table.columns[0].kind, PromptColumn::Kind::number);  // other programs write NaN for unknown values
  EXPECT_TRUE(std::isnan(table.columns[0].numbers[1]));
  EXPECT_EQ(table.columns[1].texts[0], "inf");  // among words it is a word
}

TEST_F(ReadTraceErrorsTest, MissingCells) {
  EXPECT_EQ(refusal("prompt_id,a,a|cost,b,b|cost\np1,1,1,1,1\np2,1,1,1,\np3,, ,1,1\n"),
            "2 of 3 prompts lack a cell; the first is prompt \"p2\": no cost of model \"b\". Fill them in (prices, "
            "--prices: dollars of tokens), or leave such prompts out (missing = \"drop\", --missing drop)");
  EXPECT_THAT(refusal("prompt_id,model,quality,cost\np1,a,1,1\np2,b,1,1\n", {.holes = true}),
              HasSubstr("(a log of calls needs a column propensity: docs/traces.md#which-log-can-answer-what)"));
  EXPECT_THAT(refusal(nested("null", "1")), StartsWith("1 of 2 prompts lack a cell; the first is row 2: no quality"));
  EXPECT_THAT(refusal(R"({"models": {"a": {"quality": 0, "cost": 1}}}
{"models": {"a": {"quality": 0, "cost": 1, "score": 1}, "b": {"quality": 0, "cost": 1, "score": 1}}})"),
              StartsWith("1 of 2 prompts lack a cell; the first is row 1: no score of model \"a\""));
  EXPECT_THAT(refusal("prompt_id,model,quality,cost\np1,a,1,1\np2,a,1,1\np2,b,1,1\n"),
              StartsWith("1 of 2 prompts lack a cell; the first is prompt \"p1\": no quality of model \"b\""));
  EXPECT_EQ(refusal("a,a|cost\n,1\n", {.missing = MissingCells::drop}),
            "every row lacks a cell or a price, so no row is left");
  EXPECT_EQ(refusal("prompt_id,a,a|cost\n,1,1\n"), "row 1 (line 2): the prompt has no name; give every prompt one");
  EXPECT_EQ(refusal(R"({"id": 1, "models": {"a": {"quality": 0, "cost": 1}}}
{"models": {"a": {"quality": 0, "cost": 1}}})"),
            "row 2 (line 2): has no \"id\"");
  EXPECT_EQ(refusal(R"({"models": {"a": {"quality": 0, "cost": 1}}}
{"model": 1})"),
            "row 2 (line 2): has no \"models\"");
}

TEST_F(ReadTraceErrorsTest, MisspeltNamesOfWhatAnAnswerHas) {
  const TraceOptions holes{.holes = true};
  const auto said = [&](const std::string& named, const char* meant) {
    return fmt::format("has a column \"{}\" and no \"{}\"; if that was meant, call it {}", named, meant, meant);
  };
  for (const auto& [own, meant] : {std::pair("label_propensty", "label_propensity"),
                                   {"propesnity", "propensity"},
                                   {"scor", "score"},
                                   {"scores", "score"},
                                   {"latancy", "latency"}}) {
    const std::string name = own;
    EXPECT_THAT(refusal("prompt_id,model,quality,cost," + name + "\np1,a,1,1,0.5\n", holes),
                StartsWith(said(name, meant)));
    EXPECT_THAT(refusal(R"({"prompt_id": 1, "model": "a", "quality": 0, "cost": 1, ")" + name + "\": 0.5}", holes),
                StartsWith(said(name, meant)));
  }
  EXPECT_THAT(refusal(R"({"prompt_id": 1, "model": "a", "quality": 0, "costs": 1})"),
              StartsWith(said("costs", "cost")));
  EXPECT_THAT(refusal(R"({"models": {"a": {"quality": 0, "cost": 1, "scroe": 1}}})"),
              StartsWith(said("scroe", "score")));
  EXPECT_THAT(refusal("prompt_id,decison,model,quality,cost,propensity\np1,d1,a,1,1,0.5\n", holes),
              StartsWith(said("decison", "decision")));
  // These names are only similar to known ones, or stand beside them.
  EXPECT_EQ(read("prompt_id,model,quality,cost,store,host,score,scores\np1,a,1,1,1,1,0.5,1\n").columns.size(), 3u);
}

TEST_F(ReadTraceErrorsTest, PricesOfZeroBesideOthers) {
  EXPECT_EQ(
      refusal("prompt_id,a,a|cost,b,b|cost\np1,1,1,1,0\np2,1,0,1,0\np3,1,0,1,0\n"),
      "model \"a\" costs 0 in 2 of 3 prompts, the first of them prompt \"p2\", and more in 1: such zeros are usually "
      "missing prices. Fill them in, or leave such prompts out (missing = \"drop\", --missing drop); if answers came "
      "from a cache, allow free calls (free_calls, --free-calls allowed)");
}

TEST_F(ReadTraceErrorsTest, WhatStandsTwice) {
  EXPECT_EQ(refusal("prompt_id,a,a|cost\np1,1,1\np2,1,1\np1,1,1\np1,0,1\n"),
            "2 rows repeat the prompt of an earlier row; the first is row 3, whose name is that of row 1: \"p1\". "
            "Keep one of them");
  EXPECT_THAT(refusal("prompt,a,a|cost\nsame,1,1\nsame,1,1\n"),
              AllOf(HasSubstr("the first is row 2, whose text is that of row 1: \"same\""), HasSubstr("prompt_id")));
  EXPECT_EQ(read("prompt_id,prompt,a,a|cost\n1,same,1,1\n2,same,1,1\n").rows(), 2u);  // two prompts, by their names
  EXPECT_EQ(
      refusal("prompt_id,model,quality,cost\np1,a,1,1\np1,b,1,1\np1,a,1,1\n"),
      "row 3 (line 4), column \"quality\": model \"a\" has a quality for the prompt \"p1\" already; a model answers "
      "a prompt once, unless rows are numbered by a column answer or repeats are allowed");
  EXPECT_THAT(refusal(R"({"models": {"a": {"quality": 0, "cost": 1, "reward": 0}}})"),
              HasSubstr("\"models > a > reward\": model \"a\" has a quality for the prompt already"));
  EXPECT_THAT(refusal("a,a|cost,a\n1,1,1\n"), StartsWith("column \"a\" stands twice in the header"));
  EXPECT_THAT(refusal("a,a|cost,a|total_cost\n1,1,1\n"), StartsWith("model \"a\" has two columns of costs"));
  EXPECT_THAT(refusal("prompt_id,model,quality,reward,cost\n"), StartsWith("has two columns of qualities or costs"));
  EXPECT_THAT(refusal(R"({"x": 1, "x": 2, "models": {"a": {"quality": 0, "cost": 1}}})"),
              HasSubstr("column \"x\": stands twice in a row"));
  for (const char* twice : {R"("models": {}, )", R"("id": 1, "id": 2, )"})
    EXPECT_THAT(refusal("{" + std::string(twice) + R"("models": {"a": {"quality": 0, "cost": 1}}})"),
                HasSubstr("stands twice in a row"));
  EXPECT_THAT(refusal(R"({"prompt_id": 1, "model": "a", "quality": 0, "cost": 1, "model": "b"})"),
              HasSubstr("column \"model\": stands twice in a row"));
  EXPECT_THAT(refusal(R"({"prompt_id": 1, "prompt_id": 2, "model": "a", "quality": 0, "cost": 1})"),
              HasSubstr("column \"prompt_id\": stands twice in a row"));
}

TEST_F(ReadTraceErrorsTest, HeadersOfNoKnownForm) {
  EXPECT_THAT(
      refusal("prompt,answer\nx,y\n"),
      AllOf(
          StartsWith("is no table in a known form: it has no costs; its header is prompt,answer. The known forms are"),
          HasSubstr("M|total_cost")));
  EXPECT_THAT(refusal("model,quality,cost\na,1,1\n"), HasSubstr("a column prompt_id is missing"));
  EXPECT_THAT(refusal("prompt_id,model,quality\np,a,1\n"), HasSubstr("a column cost is missing"));
  EXPECT_EQ(refusal("a,b|total_cost\n1,1\n"), "column \"b|total_cost\" has no column \"b\" of qualities beside it");
  EXPECT_THAT(refusal(R"({"prompt": "x", "models": ["a"]})"),
              HasSubstr("its first object has the members \"prompt, models\""));
  EXPECT_THAT(refusal(R"({"model": "a", "quality": 1, "cost": 1})"), HasSubstr("known form"));
  EXPECT_THAT(refusal("[{\"models\": {}}]"), StartsWith("has no model"));
  for (const char* empty : {"", "\xEF\xBB\xBF", "\n \n"}) EXPECT_EQ(refusal(empty), "is empty");
  EXPECT_EQ(refusal("a,a|cost\n"), "has no row; a table has at least one prompt");
  EXPECT_EQ(refusal(R"({"models": {}})"), "has no model");
}

TEST_F(ReadTraceErrorsTest, RowsOfAnotherShape) {
  EXPECT_EQ(refusal("a,a|cost\n1,1\n1,1,1\n"), "row 2 (line 3): has 3 fields where the header has 2");
  EXPECT_THAT(refusal("a,a|cost\n\"1,1\n"), StartsWith("row 1 (line 2): a quote that is opened is not closed"));
  EXPECT_THAT(refusal("a,a|cost\n\"1\"x,1\n"), StartsWith("row 1 (line 2): something stands between a closing quote"));
  EXPECT_THAT(refusal("p,a,a|cost\n5\" wide\",1,1\n"), StartsWith("row 1 (line 2): a quote stands inside a field"));
  EXPECT_THAT(refusal("a,a|cost\r1,1\r"), HasSubstr("a carriage return stands outside quotes"));
  EXPECT_THAT(refusal(nested("1", "1") + "{\"models\": {\"a\": {"),
              StartsWith("row 3 (line 4): is not a JSON object on one line"));
  EXPECT_THAT(refusal(nested("1", "1") + "3"), StartsWith("row 3 (line 4): is not a JSON object on one line (\"3\")"));
  EXPECT_THAT(refusal(nested("1", "1") + R"({"models": 3})"), HasSubstr("column \"models\": is no object of models"));
  EXPECT_THAT(refusal(nested("1", "1") + R"({"models": {"a": 3}})"), HasSubstr("column \"models > a\": is no object"));
  EXPECT_THAT(refusal(nested("1", "1") + R"({"models": {"": {}}})"), HasSubstr("a model has no name"));
  EXPECT_THAT(refusal(R"({"id": 1.5, "models": {}})"),
              HasSubstr("column \"id\": is neither a text nor a whole number"));
  EXPECT_THAT(refusal(R"({"v": [1, 2], "models": {}}
{"v": [1], "models": {}})"),
              StartsWith("row 2 (line 2), column \"v\": has another number of elements"));
  EXPECT_THAT(refusal("prompt_id,model,quality,cost,prompt\np1,a,1,1,x\np1,b,1,1,y\n"),
              StartsWith("column \"prompt\" differs between rows of the same prompt"));
  std::string deep = R"({"x": )";
  for (int i = 0; i < 5000; ++i) deep += "[";
  EXPECT_THAT(refusal(deep), StartsWith("row 1 (line 1): is not a JSON object on one line"));
}

TEST_F(ReadTraceErrorsTest, BytesThatAreNoText) {
  EXPECT_THAT(refusal("prompt,a,a|cost\nx,1,1\ncaf\xE9,1,1\n"),
              StartsWith("row 2 (line 3): has bytes that are not UTF-8; convert the file"));
  EXPECT_THAT(refusal("pr\xFFmpt,a,a|cost\n"), StartsWith("the header: has bytes that are not UTF-8"));
  EXPECT_THAT(refusal("{\"prompt\": \"caf\xE9\", \"models\": {}}"),
              StartsWith("row 1 (line 1): has bytes that are not"));
  for (const char* half :
       {R"("\udc00")", R"("\ud800")", R"("\udc00 and more")", R"("\ud800 and more")", R"("\ud800\u0041")"})
    for (const std::string& text :
         {fmt::format(R"({{"prompt": {}, "models": {{}}}})", half), fmt::format(R"({{{}: 1, "models": {{}}}})", half),
          fmt::format(R"({{"models": {{{}: {{"quality": 1, "cost": 1}}}}}})", half)})
      EXPECT_THAT(refusal(text), StartsWith("row 1 (line 1): "));
  EXPECT_THAT(refusal(std::string("\xFF\xFEp\0", 4)), StartsWith("is UTF-16"));
  EXPECT_THAT(refusal("PAR1xxxx"), StartsWith("is a Parquet file"));
  EXPECT_THAT(refusal("\x80\x04\x95"), StartsWith("is a pickle"));
}

TEST_F(ReadTraceErrorsTest, ModelsAndScoresThatAreNotThere) {
  const std::string csv = "gpt-4,gpt-4|cost,small,small|cost\n1,1,1,1\n";
  EXPECT_EQ(refusal(csv, {.models = {"gpt-4o"}}),
            "has no model \"gpt-4o\"; the nearest is gpt-4; its models are gpt-4, small");
  for (const std::string& text :
       {test::as_jsonl(test::nested_rows(test::small_table())), test::as_csv(test::long_rows(test::small_table()))})
    EXPECT_THAT(refusal(text, {.models = {"gpt-4o"}}), StartsWith("has no model \"gpt-4o\""));
  EXPECT_EQ(refusal(csv, {.models = {"gpt-4", "smal"}}),
            "has no model \"smal\"; the nearest is small; its models are small, gpt-4");
  EXPECT_EQ(refusal("a,a|cost\n1,1\n", {.models = {"a", "a"}}), "model \"a\" is asked for twice");
  EXPECT_EQ(refusal("a,a|cost,a|score_3\n1,1,1\n", {.scores = {{"score_2"}}}),
            "has no score \"score_2\"; the nearest is score_3");
}

TEST_F(ReadTraceErrorsTest, WhatIsTooLarge) {
  std::string header = "prompt_id", row = "\np";
  for (int m = 0; m < 1025; ++m) {
    header += fmt::format(",m{0},m{0}|cost", m);
    row += ",1,1";
  }
  EXPECT_THAT(refusal(header + row), HasSubstr("model \"m1024\" is one more than the 1024 that a table may have"));
  EXPECT_EQ(read(header + row, {.models = {"m1024"}}).rows(), 1u);
  std::string columns = "{";
  for (int c = 0; c < 4097; ++c) columns += fmt::format("\"c{}\":1,", c);
  EXPECT_THAT(refusal(columns + "\"models\":{}}"), HasSubstr("more than 4096 columns of prompts"));

  const TraceOptions little{.most_bytes = 1000};
  std::string many;
  for (int i = 0; i < 20; ++i) many += fmt::format("p{},{},1,1\n", i, std::string(60, 'x'));
  EXPECT_THAT(refusal("prompt_id,source,a,a|cost\n" + many, little),
              AllOf(StartsWith("row "), HasSubstr("the table takes more than the 0.0 GiB of memory that it may")));
  EXPECT_EQ(read("prompt_id,a,a|cost\np1,1,1\n", little).rows(), 1u);

  EXPECT_THAT(refusal("prompt,a,a|cost\n\"" + std::string(kMostRecord + 5, 'x')),
              StartsWith("row 1 (line 2): is longer than 16 MiB; is a quote that was opened closed?"));
  EXPECT_EQ(refusal("{" + std::string(kMostRecord + 5, ' ')), "row 1 (line 1): is longer than 16 MiB");
  write("x", "table");
  std::filesystem::resize_file(base_ / "table", std::uintmax_t{300} << 30);
  EXPECT_EQ(refusal_of([&] { (void)read_trace(base_ / "table"); }),
            "has 300 GiB, but a table can have at most 128; use fewer rows");
}

TEST_F(ReadTraceErrorsTest, FilesThatCannotBeRead) {
  EXPECT_EQ(refusal_of([&] { (void)read_trace(base_ / "table"); }), "cannot be read (No such file or directory)");
  ASSERT_EQ(::mkfifo((base_ / "table").c_str(), 0600), 0);
  EXPECT_EQ(refusal_of([&] { (void)read_trace(base_ / "table"); }),
            "cannot be read (it is a pipe, a socket or a device)");
}

TEST_F(ReadTraceErrorsTest, ShowsNothingThatATerminalObeys) {
  const std::string what = refusal("prompt_id,a,a|cost\np,\x1B[31m\xE2\x80\xAE" + std::string(500, 'x') + ",1\n");
  EXPECT_EQ(what.find('\x1B'), std::string::npos);
  EXPECT_THAT(what, AllOf(HasSubstr("\\x1b[31m\\u{202e}"), HasSubstr("bytes left out")));
}

}  // namespace
}  // namespace pandora
