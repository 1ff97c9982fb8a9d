// Folds and intervals over prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {
namespace {

TraceTable table_of_texts(const std::vector<std::string>& texts) {
  TraceTable table;
  table.models = {"m"};
  PromptColumn column;
  column.name = "prompt";
  for (const std::string& text : texts) {
    table.prompts.push_back("name " + std::to_string(table.rows()));
    column.texts.push_back(text);
  }
  table.columns = {column};
  table.text_column = 0;
  return table;
}

TEST(PromptGroups, EqualTextsAreOnePrompt) {
  const PromptGroups groups = group_prompts(table_of_texts({"a", "b", "a", "", "", "c"}));
  EXPECT_EQ(groups.count, 5u);  // the rows without a text are told apart by their names
  EXPECT_EQ(groups.of_row[0], groups.of_row[2]);
  EXPECT_EQ(std::set<std::size_t>(groups.of_row.begin(), groups.of_row.end()).size(), 5u);
}

TEST(PromptGroups, FoldsKeepPromptsTogetherAndAreAboutEqual) {
  std::vector<std::string> texts;
  for (int i = 0; i < 103; ++i) texts.push_back("text " + std::to_string(i % 97));
  const PromptGroups groups = group_prompts(table_of_texts(texts));
  std::vector<int> seen(texts.size(), 0);
  for (std::size_t f = 0; f < 5; ++f) {
    const Fold fold = fold_of(groups, f, 5);
    std::set<std::size_t> held_out, training;
    for (const std::size_t row : fold.held_out) {
      ++seen[row];
      held_out.insert(groups.of_row[row]);
    }
    for (const std::size_t row : fold.training) training.insert(groups.of_row[row]);
    EXPECT_EQ(fold.held_out.size() + fold.training.size(), texts.size());
    EXPECT_EQ(held_out.size() + training.size(), 97u);  // none is in both
    EXPECT_TRUE(held_out.size() == 19 || held_out.size() == 20);
    EXPECT_TRUE(std::is_sorted(fold.training.begin(), fold.training.end()));
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 103);
}

// A row's fold must not depend on the order of the file.
TEST(PromptGroups, DependOnTheTextsAlone) {
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) texts.push_back("text " + std::to_string(i));
  const PromptGroups groups = group_prompts(table_of_texts(texts));
  std::reverse(texts.begin(), texts.end());
  const PromptGroups reversed = group_prompts(table_of_texts(texts));
  for (std::size_t row = 0; row < 50; ++row) EXPECT_EQ(groups.of_row[row], reversed.of_row[49 - row]);
}

TEST(PromptGroups, IntervalsAreStudentsT) {
  const PromptGroups four{{0, 1, 2, 3}, 4};
  const Interval mean = mean_over_prompts(std::vector<double>{1.0, 2.0, 3.0, 6.0}, four);
  EXPECT_DOUBLE_EQ(mean.value, 3.0);
  const double error = std::sqrt(14.0 / 3.0 / 4.0), t = 3.182446305284263;  // 3 degrees of freedom
  EXPECT_NEAR(mean.high, 3.0 + t * error, 1e-12);
  EXPECT_NEAR(mean.low, 3.0 - t * error, 1e-12);
  const Interval difference =
      difference_over_prompts(std::vector<double>{2, 2, 2, 2}, std::vector<double>{1, 0, -1, -4}, four);
  EXPECT_DOUBLE_EQ(difference.value, mean.value);
  EXPECT_DOUBLE_EQ(difference.low, mean.low);
  EXPECT_TRUE(std::isnan(mean_over_prompts(std::vector<double>{1.0, 2.0}, {{0, 0}, 1}).low));
}

// A prompt that stands three times counts once: the interval is that of its sums.
TEST(PromptGroups, RowsOfOnePromptAreOneObservation) {
  const PromptGroups twice{{0, 1, 2, 3, 0, 1, 2, 3}, 4};
  const std::vector<double> rows = {1.0, 2.0, 3.0, 6.0, 1.0, 2.0, 3.0, 6.0};
  const Interval doubled = mean_over_prompts(rows, twice);
  const Interval once = mean_over_prompts(std::vector<double>{1.0, 2.0, 3.0, 6.0}, {{0, 1, 2, 3}, 4});
  EXPECT_DOUBLE_EQ(doubled.value, once.value);
  EXPECT_NEAR(doubled.high, once.high, 1e-12);
}

}  // namespace
}  // namespace pandora
