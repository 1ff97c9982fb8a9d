// Compares sums for all combinations of thresholds with walks over single rows, and the search by these sums with all
// candidates, one by one.
#include "host/outcomes/search/search_cascades.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/host/outcomes/search/naive_cascade.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// The thresholds of a combination. That of the last position changes fastest.
std::vector<std::size_t> thresholds_at(std::size_t combination, const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> out(counts.size());
  for (std::size_t j = counts.size(); j-- > 0; combination /= counts[j]) out[j] = combination % counts[j];
  return out;
}

TEST(ThresholdSums, AreThoseOfRowsOneByOne) {
  test::Random random(21);
  for (int world = 0; world < 200; ++world) {
    const std::size_t rows = 1 + static_cast<std::size_t>(random.below(30));
    std::vector<std::size_t> counts;
    std::vector<std::vector<std::uint32_t>> reached;
    std::vector<std::vector<double>> values;
    for (int j = random.below(4); j >= 0; --j) {
      if (j > 0) counts.push_back(1 + static_cast<std::size_t>(random.below(5)));
      reached.emplace_back();
      values.emplace_back();
      for (std::size_t row = 0; row < rows; ++row) {
        if (j > 0)
          reached.back().push_back(static_cast<std::uint32_t>(random.below(static_cast<int>(counts.back()) + 1)));
        values.back().push_back(random.uniform(-1.0, 1.0));
      }
    }
    ThresholdSums sums(rows), next(0);
    for (std::size_t j = 0; j < counts.size(); ++j) {
      next.follow(sums, reached[j], counts[j], values[j]);
      std::swap(sums, next);
    }
    std::vector<double> totals;
    sums.total(values.back(), totals);
    std::size_t combinations = 1;
    for (const std::size_t count : counts) combinations *= count;
    ASSERT_EQ(totals.size(), combinations);
    for (std::size_t at = 0; at < totals.size(); ++at) {
      const std::vector<std::size_t> thresholds = thresholds_at(at, counts);
      double expected = 0.0;
      for (std::size_t row = 0; row < rows; ++row) {
        std::size_t j = 0;
        while (j < counts.size() && reached[j][row] <= thresholds[j]) ++j;
        expected += values[j][row];
      }
      EXPECT_NEAR(totals[at], expected, 1e-12);
    }
  }
}

// Values are few, so that many candidates are equal, or differ by about the tolerance of a tie.
TEST(ThresholdSums, ASearchByThemFindsTheFirstOfTheBest) {
  test::Random random(22);
  for (int world = 0; world < 300; ++world) {
    const double unit = world % 3 == 0 ? 0.25 : world % 3 == 1 ? 1e-9 : 3.7e-10;
    std::vector<SearchedModel> models(1 + static_cast<std::size_t>(random.below(4)));
    std::vector<double> seen, worth, cost;
    for (int prompt = random.below(25); prompt >= 0; --prompt)
      for (SearchedModel& model : models) {
        seen.push_back(random.below(5) / 4.0);
        worth.push_back(random.below(4) * unit);
        cost.push_back(random.below(3) * unit / 4.0);
        model.answers.push_back({seen.back(), worth.back(), cost.back()});
      }
    std::vector<std::vector<double>> thresholds;
    for (SearchedModel& model : models) {
      for (int k = random.below(4); k >= 0; --k) model.thresholds.push_back(1.0 - k / 4.0);
      thresholds.push_back(model.thresholds);
    }
    FixedCascade first_of_the_best;
    double most = -std::numeric_limits<double>::infinity();
    for (const FixedCascade& cascade : test::all_cascades(thresholds))
      if (const double utility = test::mean_utility({models.size(), seen, worth, cost}, cascade, 1.0);
          utility > most + kUtilityTie) {
        most = utility;
        first_of_the_best = cascade;
      }
    EXPECT_EQ(search_cascades(models, models.size()), first_of_the_best) << world;
  }
}

}  // namespace
}  // namespace pandora
