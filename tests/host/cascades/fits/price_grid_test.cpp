#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora {
namespace {

TEST(PriceGrid, SpansWhatDollarsCanMean) {
  TraceTable table;
  table.models = {"free", "cheap", "dear"};
  for (int row = 0; row < 4; ++row) {
    table.prompts.push_back(std::to_string(row));
    table.quality.insert(table.quality.end(), {0.1, 0.5, 0.9});
    table.cost.insert(table.cost.end(), {0.0, 0.001, row < 2 ? 0.01 : 0.03});
  }
  const std::vector<double> prices = price_grid(table);
  EXPECT_DOUBLE_EQ(prices.front(), 0.1);  // the dearest model's $0.02 are worth 0.002
  EXPECT_GE(prices.back(), 1000.0);       // the cheapest answer that costs, $0.001, is worth all of the quality
  EXPECT_LT(prices[prices.size() - 2], 1000.0);
  for (std::size_t i = 1; i < prices.size(); ++i) EXPECT_NEAR(prices[i] / prices[i - 1], 2.0, 0.1);
  std::fill(table.cost.begin(), table.cost.end(), 0.0);
  EXPECT_THAT(price_grid(table), testing::ElementsAre(1.0));
}

TEST(PriceGrid, NumbersThatPeopleRead) {
  EXPECT_EQ(rounded(0.2718, 2), 0.27);
  EXPECT_EQ(rounded(28.8136, 3), 28.8);
  EXPECT_EQ(rounded(34567.0, 2), 35000.0);
  EXPECT_EQ(rounded(1.0, 3), 1.0);
  EXPECT_EQ(rounded(0.00012345, 3), 0.000123);
}

}  // namespace
}  // namespace pandora
