// Compares sums for all combinations of thresholds with walks over single rows, and the search by these sums with all
// candidates, one by one.
#include "host/outcomes/search/threshold_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "host/outcomes/search/search_cascades.hpp"
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
    ASSERT_EQ(totals.size(), sums.combinations());
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

// The mean of worth - cost over the prompts.
double utility_of(const std::vector<SearchedModel>& models, const FixedCascade& cascade) {
  double sum = 0.0;
  const std::size_t prompts = models[0].answers.size();
  for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
    double most = -std::numeric_limits<double>::infinity(), worth = 0.0, spent = 0.0;
    for (std::size_t position = 0; position < cascade.order.size(); ++position) {
      const OpenedAnswer& answer = models[cascade.order[position]].answers[prompt];
      spent += answer.cost;
      if (answer.seen > most) {
        most = answer.seen;
        worth = answer.worth;
      }
      if (position < cascade.thresholds.size() && answer.seen >= cascade.thresholds[position]) break;
    }
    sum += worth - spent;
  }
  return sum / static_cast<double>(prompts);
}

// The best candidate in the order of length, then models, then ascending thresholds. If several are equally good, the
// first one.
FixedCascade first_of_the_best(const std::vector<SearchedModel>& models, std::size_t longest) {
  FixedCascade best;
  double most = -std::numeric_limits<double>::infinity();
  std::vector<FixedCascade> shorter = {{}};
  for (std::size_t length = 1; length <= longest; ++length) {
    std::vector<FixedCascade> orders;
    for (const FixedCascade& cascade : shorter)
      for (std::size_t m = 0; m < models.size(); ++m) {
        if (std::find(cascade.order.begin(), cascade.order.end(), m) != cascade.order.end()) continue;
        orders.push_back(cascade);
        orders.back().order.push_back(m);
      }
    for (FixedCascade& cascade : orders) {
      std::vector<std::size_t> counts;
      for (std::size_t position = 0; position + 1 < length; ++position)
        counts.push_back(models[cascade.order[position]].thresholds.size());
      std::size_t combinations = 1;
      for (const std::size_t count : counts) combinations *= count;
      for (std::size_t at = 0; at < combinations; ++at) {
        FixedCascade candidate = cascade;
        const std::vector<std::size_t> which = thresholds_at(at, counts);
        for (std::size_t position = 0; position < which.size(); ++position)
          candidate.thresholds.push_back(models[cascade.order[position]].thresholds[which[position]]);
        if (const double utility = utility_of(models, candidate); utility > most + kUtilityTie) {
          most = utility;
          best = candidate;
        }
      }
    }
    shorter = std::move(orders);
  }
  return best;
}

// Values are few, so that many candidates are equal, or differ by about the tolerance of a tie.
TEST(ThresholdSums, ASearchByThemFindsTheFirstOfTheBest) {
  test::Random random(22);
  for (int world = 0; world < 300; ++world) {
    const double unit = world % 3 == 0 ? 0.25 : world % 3 == 1 ? 1e-9 : 3.7e-10;
    std::vector<SearchedModel> models(1 + static_cast<std::size_t>(random.below(4)));
    const int prompts = 1 + random.below(25);
    for (SearchedModel& model : models) {
      for (int prompt = 0; prompt < prompts; ++prompt)
        model.answers.push_back({random.below(5) / 4.0, random.below(4) * unit, random.below(3) * unit / 4.0});
      for (int k = random.below(4); k >= 0; --k) model.thresholds.push_back(1.0 - k / 4.0);
    }
    EXPECT_EQ(search_cascades(models, models.size()), first_of_the_best(models, models.size())) << world;
  }
}

}  // namespace
}  // namespace pandora
