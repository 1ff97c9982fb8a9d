#include "kernels/rules/checkpoints.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace pandora {
namespace {

std::vector<int> naive(std::int64_t T) {
  std::set<std::int64_t> all;
  for (std::int64_t decade = 1; decade < T; decade *= 10)
    for (const std::int64_t digit : {1, 2, 5})
      if (digit * decade < T) all.insert(digit * decade);
  for (std::int64_t i = 1; i <= 40; ++i) all.insert(i * T / 40 + (i * T % 40 != 0 ? 1 : 0));
  return {all.begin(), all.end()};
}

std::vector<int> horizons() {
  std::vector<int> out = {999, 1000, 1001, 4999, 30000, 99999, 100000, 1000000, 1000003, 2000000000};
  for (int T = 1; T <= 450; ++T) out.push_back(T);
  out.push_back(std::numeric_limits<int>::max() - 1);
  out.push_back(std::numeric_limits<int>::max());
  return out;
}

TEST(Checkpoints, AreTheSetByDefinition) {
  for (const int T : horizons()) {
    const std::vector<int> actual = checkpoints(T);
    ASSERT_EQ(actual, naive(T)) << T;
    EXPECT_EQ(actual.back(), T);
  }
  EXPECT_EQ(checkpoints(2), (std::vector<int>{1, 2}));
  EXPECT_TRUE(checkpoints(0).empty());
}

TEST(Checkpoints, NextIsTheSmallestLaterOne) {
  for (const int T : {1, 2, 3, 39, 40, 41, 80, 777}) {
    const std::vector<int> all = naive(T);
    for (int after = 0; after < T + 3; ++after) {
      int expected = 0;
      for (auto it = all.rbegin(); it != all.rend() && *it > after; ++it) expected = *it;
      ASSERT_EQ(next_checkpoint(after, T), expected) << after << " of " << T;
    }
  }
}

TEST(Checkpoints, TheBoundIsReachedAndNeverExceeded) {
  std::size_t most = 0;
  for (const int T : horizons()) most = std::max(most, checkpoints(T).size());
  EXPECT_EQ(most, static_cast<std::size_t>(kMostCheckpoints));
}

}  // namespace
}  // namespace pandora
