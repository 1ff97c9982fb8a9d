// Tables in compressed files, in files with other separators than commas, and in a file for each model.
#include <zlib.h>

#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReadFolderTest : public test::TraceTest {
 protected:
  std::string gzipped(const std::string& bytes) {
    const gzFile file = gzopen((base_ / "gzipped").c_str(), "wb");
    EXPECT_EQ(gzfwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    EXPECT_EQ(gzclose(file), Z_OK);
    return test::read_file(base_ / "gzipped");
  }
  void put(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories((base_ / "table" / name).parent_path());
    write(bytes, "table/" + name);
  }
  TraceTable read_folder(const TraceOptions& options = {}) { return read_trace(base_ / "table", options); }
  std::string refused() {
    return refusal_of([&] { (void)read_folder(); });
  }
};

TEST_F(ReadFolderTest, CompressedFilesAreThoseThatTheyHold) {
  const TraceTable table = test::small_table();
  const std::string csv = test::as_csv(test::wide_rows(table)), jsonl = test::as_jsonl(test::nested_rows(table));
  for (const std::string& text : {gzipped(csv), gzipped(jsonl), gzipped(csv.substr(0, 50)) + gzipped(csv.substr(50))})
    EXPECT_EQ(content_digest(read(text)), content_digest(table));
  std::string large = "prompt_id,prompt,a,a|cost\n";
  for (int row = 0; row < 4000; ++row)
    large += fmt::format("{},{},1,1\n", row, std::string(1000, 'x') + std::to_string(row));
  EXPECT_EQ(content_digest(read(gzipped(large))), content_digest(read(large)));
  TraceOptions options;
  std::uint64_t done = 0, total = 0;
  options.progress = [&](std::uint64_t d, std::uint64_t t) { done = d, total = t; };
  (void)read(gzipped(large), options);
  EXPECT_EQ(done, gzipped(large).size());
  EXPECT_EQ(total, done);
}

TEST_F(ReadFolderTest, CompressedFilesThatAreDamagedSaySo) {
  const std::string whole = gzipped(test::as_csv(test::wide_rows(test::small_table())));
  for (std::size_t bytes = 2; bytes < whole.size(); bytes += 7)
    EXPECT_EQ(refusal(whole.substr(0, bytes)),
              "cannot be read (it was cut off: its compressed (gzip) content is incomplete; copy or download the file "
              "again)");
  std::string other = whole;
  other[other.size() - 6] ^= 1;  // a bit of the checksum
  EXPECT_THAT(refusal(other), HasSubstr("its compressed (gzip) content is damaged"));
  EXPECT_THAT(refusal(whole + "x"), HasSubstr("gzip"));
  EXPECT_EQ(refusal("BZh9"), "is compressed, but not by gzip, which can be read; decompress it first");
}

TEST_F(ReadFolderTest, SemicolonsAndTabsAreKnownByTheHeader) {
  const TraceTable table = read("prompt_id,prompt,a,a|cost\np,\"x; y\tz\",0.5,1\n");
  for (const char separator : {';', '\t'}) {
    std::string text = "prompt_id,prompt,a,a|cost\np,\"x; y\tz\",0.5,1\n";
    std::replace(text.begin(), text.end(), ',', separator);
    EXPECT_EQ(content_digest(read(text)), content_digest(table));
  }
  EXPECT_EQ(content_digest(read("prompt_id;\"a, b, c, d, e\";a;a|cost\np;1,5;0.5;1\n")),
            content_digest(read("prompt_id,\"a, b, c, d, e\",a,a|cost\np,\"1,5\",0.5,1\n")));
  EXPECT_EQ(refusal("prompt_id;a;a|cost\np1;0,5;1\n"),
            "row 1 (line 2), column \"a\": \"0,5\" is not a number; write a decimal point");
  EXPECT_THAT(refusal("prompt_id;a;a|cost\np1;\"1\"x;1\n"), HasSubstr("closing quote and the next semicolon"));
}

std::string results(const std::string& model, const std::string& records, const std::string& more = "") {
  return R"({"performance": 0.5, "model_name": ")" + model + R"(", "dataset_name": "aime", "split": "test", )" + more +
         "\n\"records\": [" + records + "]}\n";
}

TEST_F(ReadFolderTest, ResultsOfLlmRouterBenchAreATable) {
  const std::string ones =
      R"({"index": 1, "origin_query": "one", "prompt": "P one", "score": 1.0, "cost": 0.5, "prompt_tokens": 9,
          "completion_tokens": 9, "prediction": "x", "raw_output": ["y"]},
         {"index": 2, "origin_query": "two", "prompt": "P two", "score": 0.0, "cost": 0.25})";
  const std::string twos = R"({"index": 2, "origin_query": "two", "score": 1.0, "cost": 3},
                              {"index": 1, "origin_query": "one", "score": 0.5, "cost": 2})";
  put("aime/test/a/aime-test-a-20260101_000000.json", results("a", R"({"index": 1, "score": 0, "cost": 9})"));
  put("aime/test/a/aime-test-a-20260102_000000.json", results("a", ones));
  put("aime/test/a/aime-test-a-20260103_000000.json", results("a", ones, "\"demo\": true,"));
  put("aime/test/b/aime-test-b-20260101_000000.json.gz", gzipped(results("b", twos)));
  put("notes.txt", "nothing of this is read");
  const TraceTable table = read_folder();
  EXPECT_THAT(table.models, ElementsAre("a", "b"));
  EXPECT_EQ(table.source, (base_ / "table").string());
  EXPECT_EQ(table.prompts[1], "aime/test/2");
  EXPECT_EQ(table.text(0), "one");
  EXPECT_THAT(table.quality, ElementsAre(1, 0.5, 0, 1));
  EXPECT_THAT(table.cost, ElementsAre(0.5, 2, 0.25, 3));
  EXPECT_EQ(find_column(table, "dataset")->texts[0], "aime");
  EXPECT_THAT(
      table.notes,
      ElementsAre("not used: \"prompt\", \"prediction\", \"raw_output\", \"prompt_tokens\", \"completion_tokens\"",
                  "not used: 2 files that are trials, or that later files replace"));
}

std::string arena(const std::string& model, const std::string& prompt, const std::string& score) {
  return R"({"global_index": ")" + prompt + R"(", "question": "Q )" + prompt + R"(", "llm_selected": ")" + model +
         R"(", "generated_answer": "x", "token_usage": {"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010},
"evaluation_result": )" +
         (score.empty() ? "null" : R"({"score": )" + score + R"(, "inference_cost": 0.5})") + "}";
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + "\n";
}

TEST_F(ReadFolderTest, CachedResultsOfRouterArenaAreATable) {
  put("a.jsonl", one_line(arena("vendor/a", "AIME_1", "1.0")) + one_line(arena("vendor/a", "AIME_2", "0.25")));
  put("b.jsonl", one_line(arena("b", "AIME_2", "0.5")) + one_line(arena("b", "AIME_1", "")));
  EXPECT_THAT(refused(),
              StartsWith("1 of 2 prompts lack a cell; the first is prompt \"AIME_1\": no quality of model \"b\""));
  TraceOptions options{.missing = MissingCells::drop};
  const TraceTable table = read_folder(options);
  EXPECT_THAT(table.models, ElementsAre("vendor/a", "b"));
  EXPECT_THAT(table.quality, ElementsAre(0.25, 0.5));
  EXPECT_EQ(table.text(0), "Q AIME_2");
  options.prices = {{"b", {1, 1}}, {"vendor/a", {1, 1}}};
  EXPECT_THAT(read_folder(options).notes, testing::Contains(HasSubstr("3 of 4 answers have a cost beside")));
  EXPECT_EQ(read_trace(write(one_line(arena("a", "x", "1")), "alone")).cost[0], 0.5);
}

TEST_F(ReadFolderTest, RowsThatNameNoModelAreOfTheirFilesModel) {
  put("gpt-4.1.json", R"([{"id": 1, "quality": 1, "cost": 2}, {"id": 2, "quality": 0.5, "cost": 2}])");
  put("small.jsonl", "{\"id\": 2, \"quality\": 0, \"cost\": 1}\n{\"id\": 1, \"quality\": 0.25, \"cost\": 1}\n");
  const TraceTable table = read_folder();
  EXPECT_THAT(table.models, ElementsAre("gpt-4.1", "small"));
  EXPECT_THAT(table.quality, ElementsAre(1, 0.25, 0.5, 0));
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST_F(ReadFolderTest, WhatIsWrongInAFolderNamesTheFile) {
  std::filesystem::create_directories(base_ / "table");
  EXPECT_EQ(refused(), "is a folder without files called .json or .jsonl (also .gz); name a file of it");
  const std::string file = (base_ / "table" / "a.json").string();
  put("a.json", "{\"x\": 1}\n{\"x\": 2}\n");
  EXPECT_THAT(refused(), StartsWith(file + ": is not one JSON value"));
  put("a.json", "{\"x\": 1}");
  EXPECT_THAT(refused(), StartsWith(file + ": is neither a list of rows nor an object with dataset_name"));
  put("a.json", "[1]");
  EXPECT_EQ(refused(), file + ": row 1: is no object");
  put("a.json", results("a", R"({"index": 1, "score": 2, "cost": 1})"));
  EXPECT_THAT(refused(), StartsWith(file + ": row 1, column \"/score\": 2 is outside [0, 1]"));
  put("a.json", results("a", R"({"score": 1, "cost": 1})"));
  EXPECT_EQ(refused(), file + ": row 1: has no \"index\"");
  put("a.json", results("a", R"({"index": 1, "score": 1, "cost": 1}, {"index": 1, "score": 1, "cost": 1})"));
  EXPECT_THAT(refused(), HasSubstr("a.json: row 2, column \"/score\": model \"a\" has a quality for the prompt"));
}

}  // namespace
}  // namespace pandora
