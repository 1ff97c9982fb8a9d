// Isotonic regression against the formula of its solution.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// At each distinct score: max over scores up to it of min over scores from it on of the mean of the qualities between.
std::map<double, double> naive_isotonic(const std::vector<double>& scores, const std::vector<double>& qualities) {
  std::map<double, double> out;
  for (const double score : scores) {
    double most = -1.0;
    for (const double from : scores) {
      if (from > score) continue;
      double least = 2.0;
      for (const double to : scores) {
        if (to < score) continue;
        double sum = 0.0, count = 0.0;
        for (std::size_t i = 0; i < scores.size(); ++i)
          if (scores[i] >= from && scores[i] <= to) {
            sum += qualities[i];
            count += 1.0;
          }
        least = std::min(least, sum / count);
      }
      most = std::max(most, least);
    }
    out[score] = most;
  }
  return out;
}

TEST(IsotonicMap, IsTheSolutionOfTheRegression) {
  test::Random random(1);
  for (int table = 0; table < 50; ++table) {
    const int n = 1 + random.below(15);
    std::vector<double> scores, qualities;
    for (int i = 0; i < n; ++i) {
      scores.push_back(random.below(8) / 7.0);
      qualities.push_back(random.below(5) / 4.0);
    }
    const IsotonicMap map = IsotonicMap::fit(scores, qualities);
    for (const auto& [score, quality] : naive_isotonic(scores, qualities))
      EXPECT_NEAR(map(score), quality, 1e-12) << "table " << table << ", score " << score;
    EXPECT_TRUE(std::is_sorted(map.qualities.begin(), map.qualities.end()));
    EXPECT_EQ(std::adjacent_find(map.scores.begin(), map.scores.end(), std::greater_equal<>()), map.scores.end());
  }
}

TEST(IsotonicMap, IsLinearBetweenBlocksAndConstantInThemAndBeyond) {
  const IsotonicMap map =
      IsotonicMap::fit(std::vector<double>{0.2, 0.4, 0.6, 0.8}, std::vector<double>{0.1, 0.5, 0.3, 0.9});
  EXPECT_EQ(map.scores, (std::vector<double>{0.2, 0.4, 0.6, 0.8}));
  EXPECT_DOUBLE_EQ(map(0.0), 0.1);
  EXPECT_DOUBLE_EQ(map(0.3), 0.25);
  EXPECT_DOUBLE_EQ(map(0.5), 0.4);
  EXPECT_DOUBLE_EQ(map(0.75), 0.775);
  EXPECT_DOUBLE_EQ(map(1.0), 0.9);
}

TEST(IsotonicMap, WithoutKnotsIsTheScoreItself) {
  EXPECT_EQ(IsotonicMap()(0.3), 0.3);
}

TEST(IsotonicMap, EveryModelHasItsOwn) {
  TraceTable table;
  table.models = {"a", "b"};
  for (const char* name : {"1", "2", "3"}) table.prompts.push_back(name);
  table.quality = {0.1, 0.9, 0.2, 0.8, 0.3, 0.7};
  table.cost.assign(6, 0.0);
  table.scores = {{"score", {0.0, 0.0, 0.5, 0.5, 1.0, 1.0}}};
  const std::vector<IsotonicMap> maps = calibrate_scores(table, table.scores[0], std::vector<std::size_t>{0, 2});
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].qualities, (std::vector<double>{0.1, 0.3}));
  EXPECT_EQ(maps[1].qualities, (std::vector<double>{0.8, 0.8}));  // the better score had the worse answer
  const std::vector<double> seen = calibrated_scores(maps, table.scores[0]);
  EXPECT_EQ(seen, (std::vector<double>{0.1, 0.8, 0.2, 0.8, 0.3, 0.8}));
}

}  // namespace
}  // namespace pandora
