// What fits share is what each would make for itself.
#include "host/cascades/fits/prepared_rows.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/host/outcomes/tables/made_up_traces.hpp"
#include "tests/host/outcomes/tables/naive_ngrams.hpp"

namespace pandora {
namespace {

constexpr std::size_t kFolds = 5;

class PreparedRowsTest : public testing::Test {
 protected:
  PreparedRowsTest() {
    const test::TraceLaw law(0.4);
    test::Random random(21);
    table_ = law.draw(300, random);
    table_.columns = {{"prompt", PromptColumn::Kind::text, 1, {}, test::some_texts(300)},
                      {"size", PromptColumn::Kind::number, 1, {}, {}}};
    table_.text_column = 0;
    for (std::size_t row = 0; row < table_.rows(); ++row)
      table_.columns[1].numbers.push_back(1000.0 * table_.cost[3 * row]);
    settings_.evaluator = "score";
    settings_.context = {"size"};
  }

  void expect_same(const PreparedRows& found, const PreparedRows& expected) {
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.calibration, expected.calibration);
    EXPECT_EQ(found.seen, expected.seen);
    EXPECT_EQ(found.context->psi, expected.context->psi);
    EXPECT_TRUE(found.context->features == expected.context->features);
  }

  TraceTable table_;
  CascadeFitSettings settings_;
};

TEST_F(PreparedRowsTest, RowsOutsideTwoFoldsArePreparedAsByThemselves) {
  const PreparedFolds folds(table_, settings_, kFolds);
  for (std::size_t f = 0; f <= kFolds; ++f)
    for (std::size_t g = f; g <= kFolds; ++g) {
      const std::shared_ptr<const PreparedRows> found = folds.without(f, g);
      EXPECT_EQ(found, folds.without(g, f));
      for (const std::size_t row : found->rows) {
        EXPECT_NE(folds.groups().of_row[row] % kFolds, f);
        EXPECT_NE(folds.groups().of_row[row] % kFolds, g);
      }
      expect_same(*found, prepared_rows(table_, settings_, found->rows));
    }
  EXPECT_EQ(folds.without(kFolds, kFolds)->rows.size(), table_.rows());
}

TEST_F(PreparedRowsTest, SomeModelsArePreparedAsATableOfTheirs) {
  const PreparedFolds folds(table_, settings_, kFolds);
  const TraceTable some = select_models(table_, {table_.models[2], table_.models[0]});
  const PreparedFolds of_some(folds, some, {2, 0});
  const std::shared_ptr<const PreparedRows> found = of_some.without(1, 3);
  expect_same(*found, prepared_rows(some, settings_, found->rows));
}

// The projection of a fold begins at that of all texts and ends as near to its own as one that begins at random.
TEST_F(PreparedRowsTest, ProjectionsThatBeginNearbyLeadAsFar) {
  settings_.context = {"text:4"};
  const PreparedFolds folds(table_, settings_, kFolds);
  expect_same(*folds.without(kFolds, kFolds), prepared_rows(table_, settings_, all_rows(table_.rows())));
  const std::vector<std::size_t>& rows = folds.without(2, 4)->rows;
  const TextCounts counts = TextCounts::of(table_.columns[0].texts, all_rows(table_.rows()));
  const auto variance = [&](const TextProjection& projection) {
    std::vector<double> numbers(4), mean(4), squares(4);
    for (const std::size_t row : rows) {
      projection.apply(counts[row], numbers);
      for (std::size_t j = 0; j < 4; ++j) {
        mean[j] += numbers[j] / static_cast<double>(rows.size());
        squares[j] += numbers[j] * numbers[j] / static_cast<double>(rows.size());
      }
    }
    return std::accumulate(squares.begin(), squares.end(), 0.0) -
           std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0);
  };
  const TextProjection all = TextProjection::fit(counts, all_rows(table_.rows()), 4);
  const double own = variance(TextProjection::fit(counts, rows, 4));
  EXPECT_NEAR(variance(TextProjection::fit(counts, rows, 4, &all)) / own, 1.0, 1e-3);
  EXPECT_LE(variance(all), own * (1.0 + 1e-9));
}

}  // namespace
}  // namespace pandora
