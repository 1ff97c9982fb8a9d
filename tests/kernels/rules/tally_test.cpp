#include "kernels/rules/tally.hpp"

#include <gtest/gtest.h>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(LaneTally, RecordsTheSumOfUtilityAtTheCheckpoints) {
  for (const int T : {1, 2, 40, 41, 137}) {
    test::Random random(static_cast<std::uint64_t>(T));
    LaneTally tally;
    tally.start(T);
    double sum = 0.0;
    std::vector<double> expected;
    const std::vector<int> at = checkpoints(T);
    for (int period = 1; period <= T; ++period) {
      const double mu[2] = {random.uniform(0.0, 1.0), random.uniform(0.0, 1.0)}, cost[2] = {0.25, random.uniform(0, 1)};
      const float reward[2] = {0, 1};
      PeriodOutcome outcome;
      outcome.queried = 2;
      outcome.order[0] = 1;
      outcome.order[1] = 0;
      outcome.deployed = period % 2;
      tally.add(outcome, mu, cost, reward);
      sum += mu[outcome.deployed] - (cost[1] + cost[0]);
      if (std::find(at.begin(), at.end(), period) != at.end()) expected.push_back(sum);
      ASSERT_EQ(tally.recorded, static_cast<int>(expected.size()));
    }
    EXPECT_EQ(std::vector<double>(tally.curve, tally.curve + tally.recorded), expected);
    EXPECT_EQ(expected.back(), tally.utility);
    EXPECT_EQ(tally.next, 0);
    EXPECT_EQ(tally.failure, Failure::none);
  }
}

}  // namespace
}  // namespace pandora
