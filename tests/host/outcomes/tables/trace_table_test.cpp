// Operations on a table in memory.
#include <set>

#include "host/outcomes/tables/text_hash.hpp"
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class TraceTableTest : public test::TraceTest {
 protected:
  TraceTable small_ = [] {
    TraceTable table = test::small_table();
    table.source = "small.csv";
    return table;
  }();
};

TEST_F(TraceTableTest, SelectsModels) {
  const TraceTable table = select_models(small_, {"small", "vendor/big"});
  EXPECT_THAT(table.models, ElementsAre("small", "vendor/big"));
  EXPECT_EQ(table.quality[0], 0);
  EXPECT_EQ(table.quality[1], 1);
  EXPECT_EQ(table.scores[0].values[3], 0.4);
  EXPECT_EQ(content_digest(select_models(table, small_.models)), content_digest(small_));
  EXPECT_NE(refusal_of([&] { (void)select_models(small_, {}); }).find("no model is asked for"), std::string::npos);
  EXPECT_EQ(refusal_of([&] { (void)select_models(small_, {"smal"}); }),
            "small.csv: has no model \"smal\"; the nearest is small");
  EXPECT_THAT(refusal_of([&] { (void)select_models(small_, {"small", "small"}); }), HasSubstr("asked for twice"));
}

TEST_F(TraceTableTest, SelectsRows) {
  const TraceTable table = select_rows(small_, std::vector<std::size_t>{3, 0, 3});
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_EQ(table.prompts[2], "p7");
  EXPECT_THAT(table.quality, ElementsAre(1, 1, 1, 0, 1, 1));
  EXPECT_THAT(table.scores[0].values, ElementsAre(1, 0, 0.9, 0.1, 1, 0));
  EXPECT_EQ(table.text(1), small_.text(0));
  EXPECT_THAT(table.columns[3].numbers, ElementsAre(3e10, 2, 1, 0.5, 3e10, 2));
  std::vector<std::size_t> all = {0, 1, 2, 3, 4};
  EXPECT_EQ(content_digest(select_rows(small_, all)), content_digest(small_));
}

TEST_F(TraceTableTest, FindsScoresAndColumns) {
  small_.scores.push_back({"score_gpt", small_.cost});
  EXPECT_EQ(&find_score(small_, "score"), &small_.scores[0]);
  EXPECT_EQ(&find_score(small_, "gpt"), &small_.scores[1]);
  EXPECT_EQ(&find_score(small_, "score_gpt"), &small_.scores[1]);
  EXPECT_THAT(refusal_of([&] { (void)find_score(small_, "score_gtp"); }),
              StartsWith("small.csv: has no score \"score_gtp\"; the nearest"));
  small_.scores.clear();
  EXPECT_EQ(refusal_of([&] { (void)find_score(small_, "gpt"); }),
            "small.csv: has no scores; a judge's column is called score, score_NAME or score:NAME");
  EXPECT_EQ(find_column(small_, "source"), &small_.columns[1]);
  EXPECT_EQ(find_column(small_, "sauce"), nullptr);
}

TEST_F(TraceTableTest, DigestDependsOnEveryPartOfTheContent) {
  std::vector<TraceTable> tables(14, small_);
  tables[0].models[0] = "other";
  tables[1].quality[3] = 0.2500000000000001;
  tables[2].cost[9] = 1;
  tables[3].scores[0].values[0] = 0;
  tables[4].scores[0].name = "score_2";
  tables[5].columns[0].name = "text";
  tables[6].columns[2].numbers[0] = 1;
  tables[7] = select_rows(small_, std::vector<std::size_t>{1, 0, 2, 3, 4});
  tables[8].columns.pop_back();
  tables[9].columns[3].length = 1;
  tables[10].named_prompts = false;
  tables[11].columns[1].texts.push_back("more");
  tables[12].columns[2].kind = PromptColumn::Kind::vector;
  tables[13].prompts.push_back("more");
  std::vector<std::string> digests = {content_digest(small_)};
  for (const TraceTable& table : tables) digests.push_back(content_digest(table));
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(std::unique(digests.begin(), digests.end()), digests.end());
  small_.source = "elsewhere";
  small_.notes = {"a note"};
  small_.dropped = 3;
  EXPECT_TRUE(std::binary_search(digests.begin(), digests.end(), content_digest(small_)));
}

TraceTable numbered_table(std::size_t rows, bool with_text) {
  TraceTable table;
  table.models = {"a"};
  PromptColumn text{"prompt"};
  for (std::size_t row = 0; row < rows; ++row) {
    table.prompts.push_back(fmt::format("p{}", row));
    text.texts.push_back(fmt::format("text {}", row / 2));  // every text occurs twice
  }
  table.named_prompts = true;
  table.quality.assign(rows, 0.5);
  table.cost.assign(rows, 1);
  if (with_text) {
    table.columns = {text};
    table.text_column = 0;
  }
  return table;
}

TEST_F(TraceTableTest, SplitsByThePromptAlone) {
  for (const bool with_text : {false, true}) {
    const TraceTable table = numbered_table(20000, with_text);
    const TraceSplit split = split_rows(table, 0.3);
    EXPECT_EQ(split.first.size() + split.second.size(), 20000u);
    EXPECT_NEAR(static_cast<double>(split.first.size()) / 20000, 0.3, 5 * std::sqrt(0.21 / 10000));
    std::vector<bool> first(20000);
    for (const std::size_t row : split.first) first[row] = true;
    for (std::size_t row = 0; with_text && row < 20000; row += 2) ASSERT_EQ(first[row], first[row + 1]) << row;
    // A prompt stays in its part in a table with other rows, and with a larger share.
    std::vector<std::size_t> some;
    for (std::size_t row = 0; row < 20000; row += 7) some.push_back(row);
    for (const std::size_t i : split_rows(select_rows(table, some), 0.3).first) EXPECT_TRUE(first[some[i]]);
    const std::vector<std::size_t> more = split_rows(table, 0.5).first;
    EXPECT_TRUE(std::includes(more.begin(), more.end(), split.first.begin(), split.first.end()));
  }
}

TEST_F(TraceTableTest, RefusesSplitsThatAreNone) {
  for (const double share : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THAT(refusal_of([&] { (void)split_rows(small_, share); }, ExitCode::usage), HasSubstr("no share in (0, 1)"));
  EXPECT_THAT(refusal_of([&] { (void)split_rows(numbered_table(1, true), 0.5); }), HasSubstr("too few to split"));
}

TEST_F(TraceTableTest, GroupsRowsByThePromptAlone) {
  TraceTable table = numbered_table(50, true);
  table.columns[0].texts = {};
  for (int row = 0; row < 50; ++row) table.columns[0].texts.push_back(row < 10 ? "" : fmt::format("text {}", row / 2));
  const PromptGroups groups = group_prompts(table);
  EXPECT_EQ(groups.count, 10u + 20u);  // names distinguish rows without a text
  EXPECT_EQ(std::set(groups.of_row.begin(), groups.of_row.end()).size(), 30u);
  std::vector<std::size_t> reversed;
  for (std::size_t row = 50; row-- > 0;) reversed.push_back(row);
  for (std::size_t row = 10; row < 50; row += 2) EXPECT_EQ(groups.of_row[row], groups.of_row[row + 1]);
  const PromptGroups others = group_prompts(select_rows(table, reversed));  // nor does the file's order matter
  for (std::size_t row = 0; row < 50; ++row) EXPECT_EQ(groups.of_row[row], others.of_row[49 - row]);
}

TEST_F(TraceTableTest, KnowsTheHash) {  // because other programs compute it too
  EXPECT_EQ(Fnv1a().state, 0xcbf29ce484222325u);
  Fnv1a hash;
  hash.add("a");
  EXPECT_EQ(hash.state, 0xaf63dc4c8601ec8cu);                  // a value that its authors published
  EXPECT_EQ(mixed(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdafu);  // the first output of SplitMix64 from state 0
  EXPECT_EQ(stable_hash("a"), mixed(0xaf63dc4c8601ec8cu));
}

TEST_F(TraceTableTest, CalibrationAndOnlineTablesAreApart) {
  TraceTable online = small_;
  online.source = "online.csv";
  EXPECT_EQ(
      refusal_of([&] { require_apart(small_, online); }),
      "online.csv: 5 of its 5 prompts are in small.csv too; the first is that of row 1, there row 1: \"Two lines, "
      "and a comma\". A fit looks too good on prompts that it has seen; remove them from one of the two");
  TextColumn texts;
  for (const char* text : {"a", "b", "c", "plain", ""}) texts.push_back(text);
  online.columns[0].texts = texts;
  EXPECT_THAT(refusal_of([&] { require_apart(small_, online); }),
              HasSubstr("1 of its 5 prompts are in small.csv too; the first is that of row 4, there row 5"));
  online = select_rows(online, std::vector<std::size_t>{0, 1, 4});  // equal names, other texts
  require_apart(small_, online);
  online.text_column = TraceTable::kNone;
  EXPECT_THAT(refusal_of([&] { require_apart(small_, online); }), HasSubstr("3 of its 3 prompts"));
  online.named_prompts = false;
  require_apart(small_, online);
  require_apart(small_, select_models(online, {"small", "vendor/big"}));  // another order of models is allowed
  EXPECT_THAT(refusal_of([&] { require_apart(small_, select_models(online, {"small"})); }),
              StartsWith("online.csv: has no model \"vendor/big\", which small.csv has"));
  EXPECT_THAT(refusal_of([&] { require_apart(select_models(small_, {"small"}), online); }),
              StartsWith("online.csv: has the model \"vendor/big\", which small.csv does not have"));
}

TEST_F(TraceTableTest, StatesItsBytes) {
  const TraceTable table =
      numbered_table(1000, true);  // one model: quality, cost, a name and a text, and where these end
  EXPECT_EQ(trace_bytes(table), 1000 * 4 * 8 + table.prompts.bytes().size() + table.columns[0].texts.bytes().size());
}

}  // namespace
}  // namespace pandora
