// Compares Table 3's statistics with direct counting.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <string>

#include "host/lanes/model/preparation.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

Instance instance_of(Regime regime, std::uint32_t replication) {
  Environment environment = paper_environments()[0];
  return draw_instance(test::small_dimensions(3, 2, 2), environment, regime, replication, 61);
}

// In regime A neither indices nor their order depend on the context.
TEST(OrderFrequencies, RegimeAHasOnePermutation) {
  for (std::uint32_t r = 0; r < 3; ++r) {
    const Instance instance = instance_of(Regime::A, r);
    const ShockSample sample = draw_shock_sample(instance, 2000);
    const OrderFrequencies found = order_frequencies(instance, sample, 300, test::small_oracle());
    EXPECT_EQ(found, (OrderFrequencies{1.0, 1.0, 1.0}));
  }
}

TEST(OrderFrequencies, RegimeBCountsTheOrdersOfTheIndices) {
  double most = 0.0;
  for (std::uint32_t r = 0; r < 8; ++r) {
    const Instance instance = instance_of(Regime::B, r);
    const ShockSample sample = draw_shock_sample(instance, 2000);
    const Contexts contexts = draw_contexts(instance, {{Purpose::order_context, 0, 400}});
    const std::vector<double> sigma = oracle_indices(instance, sample, contexts, test::small_oracle());
    std::map<std::string, int> count;
    for (int row = 0; row < 400; ++row) {
      std::string order = "012";
      std::stable_sort(order.begin(), order.end(),
                       [&](char a, char b) { return sigma[3 * row + a - '0'] > sigma[3 * row + b - '0']; });
      ++count[order];
    }
    const auto [least, greatest] = std::ranges::minmax(std::views::values(count));
    const OrderFrequencies found = order_frequencies(instance, sample, 400, test::small_oracle());
    EXPECT_EQ(found.permutations, static_cast<double>(count.size()));
    EXPECT_DOUBLE_EQ(found.max_mass, greatest / 400.0);
    EXPECT_DOUBLE_EQ(found.min_mass, least / 400.0);
    most = std::max(most, found.permutations);
  }
  EXPECT_GE(most, 2.0);  // so there was something to count
}

}  // namespace
}  // namespace pandora
