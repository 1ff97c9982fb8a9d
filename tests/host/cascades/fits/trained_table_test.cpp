// What indices are fitted as: those of the table, to the end.
#include "host/cascades/fits/trained_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Answers of which a third is exactly right, as judged ones are: indices then lie close to 1.
TraceTable steep_table(std::size_t rows) {
  const double dollars[] = {2e-5, 1e-4, 6e-4, 4e-3}, right[] = {0.29, 0.35, 0.4, 0.44};
  TraceTable table;
  table.models = {"a", "b", "c", "d"};
  test::Random random(5);
  for (std::size_t row = 0; row < rows; ++row) {
    table.prompts.push_back(std::to_string(row + 1));
    for (int a = 0; a < 4; ++a) {
      const double miss = random.uniform(0.0, 1.0);
      table.quality.push_back(random.uniform(0.0, 1.0) < right[a] ? 1.0 : 1.0 - 0.3 * miss * miss);
      table.cost.push_back(dollars[a] * random.uniform(0.5, 1.5));
    }
  }
  return table;
}

// sum over rows of (quality - sigma)^+ = price x sum of costs, by bisection.
double marginal_index(const TraceTable& table, std::size_t model, double price) {
  double low = -1.0, high = 1.0;
  for (int k = 0; k < 60; ++k) {
    const double sigma = 0.5 * (low + high);
    double gain = 0.0;
    for (std::size_t at = model; at < table.quality.size(); at += table.models.size())
      gain += std::max(table.quality[at] - sigma, 0.0) - price * table.cost[at];
    (gain > 0.0 ? low : high) = sigma;
  }
  return low;
}

TEST(TrainedTable, IndicesWithoutAContextAreTheTablesMarginalOnes) {
  const TraceTable table = steep_table(1700);
  CascadeFitSettings settings;
  settings.evaluator = "quality";
  settings.indices = true;
  const TrainedTable trained(table, settings, all_rows(table.rows()));
  for (const double price : {5.0, 20.0, 50.0}) {
    Cascade cascade = trained.cascade_of(trained.options_of_indices(price, false));
    EXPECT_EQ(cascade.counts().unsolved_refits, 0);
    const std::uint64_t request = cascade.begin(std::vector<float>{1.0f});
    const CascadeExplanation explained = cascade.explain(request);
    for (std::size_t a = 0; a < 4; ++a)
      EXPECT_NEAR(explained.models[a].score, marginal_index(table, a, price), 1e-3) << "price " << price << ", " << a;
  }
}

}  // namespace
}  // namespace pandora
