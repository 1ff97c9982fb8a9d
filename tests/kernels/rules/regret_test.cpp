#include "kernels/rules/regret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "host/engine/run_on_cpu.hpp"
#include "host/reference/reference_engine.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// A period replayed box by box: what is gained and how many boxes were opened.
struct Replay {
  double gained;
  int opened;
};
Replay replay(const std::vector<int>& order, const std::vector<double>& mu, const std::vector<double>& cost,
              const std::vector<double>& sigma) {
  double best = -1e9, spent = 0.0;
  std::vector<int> left = order;
  while (!left.empty()) {
    best = std::max(best, mu[left[0]]);
    spent += cost[left[0]];
    left.erase(left.begin());
    if (std::all_of(left.begin(), left.end(), [&](int a) { return best >= sigma[a]; })) break;
  }
  return {best - spent, static_cast<int>(order.size() - left.size())};
}

TEST(RegretParts, AreThoseOfPeriodsReplayedBoxByBox) {
  test::Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const int A = 1 + random.below(5);
    std::vector<double> mu, cost, sigma;
    for (int a = 0; a < A; ++a) {
      mu.push_back(random.uniform(0.0, 1.0));
      cost.push_back(random.uniform(0.0, 0.3));
      sigma.push_back(random.uniform(-0.2, 1.0));
    }
    std::vector<int> by_sigma(A), order(A);
    std::iota(by_sigma.begin(), by_sigma.end(), 0);
    order = by_sigma;
    std::sort(by_sigma.begin(), by_sigma.end(), [&](int a, int b) { return sigma[a] > sigma[b]; });
    for (int k = A - 1; k > 0; --k) std::swap(order[k], order[random.below(k + 1)]);
    PeriodOutcome outcome;
    outcome.ranked = 1 + random.below(A);
    outcome.queried = 1 + random.below(outcome.ranked);
    outcome.deployed = order[random.below(outcome.queried)];
    std::copy(order.begin(), order.begin() + outcome.ranked, outcome.order);
    std::vector<int> whole(order.begin(), order.begin() + outcome.ranked);
    for (int a : by_sigma)
      if (std::find(whole.begin(), whole.end(), a) == whole.end()) whole.push_back(a);

    const RegretParts parts = regret_parts(outcome, A, mu.data(), cost.data(), sigma.data());
    const Replay oracle = replay(by_sigma, mu, cost, sigma), stopped = replay(whole, mu, cost, sigma);
    double best = 0.0, spent = 0.0;
    for (int k = 0; k < outcome.queried; ++k) {
      best = std::max(best, mu[order[k]]);
      spent += cost[order[k]];
    }
    EXPECT_NEAR(parts.wrong_order, oracle.gained - stopped.gained, 1e-12);
    const double stop = stopped.gained - (best - spent);
    EXPECT_NEAR(parts.too_early, outcome.queried < stopped.opened ? stop : 0.0, 1e-12);
    EXPECT_NEAR(parts.too_many, outcome.queried > stopped.opened ? stop : 0.0, 1e-12);
    EXPECT_NEAR(parts.wrong_deployment, best - mu[outcome.deployed], 1e-12);
    EXPECT_NEAR(parts.wrong_order + parts.too_early + parts.too_many + parts.wrong_deployment,
                oracle.gained - (mu[outcome.deployed] - spent), 1e-12);
  }
}

// Of every policy's lanes, at every checkpoint, by both engines; where mu* is known nothing wrong is deployed.
TEST(RegretParts, AddUpToTheRegretOfEveryLane) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 12, 300, 4);
  LaneSpec oracle_lane;
  oracle_lane.score = Score::oracle_index;
  const LaneTally oracle = run_reference_lane(replication, oracle_lane, {});
  for (const LaneSpec& lane : test::all_lanes(replication, {0, 12}))
    for (const LaneTally& tally :
         {run_reference_lane(replication, lane, {}), run_on_cpu<float>(replication, std::span(&lane, 1), {})[0]}) {
      for (int k = 0; k < tally.recorded; ++k) {
        double sum = 0.0;
        for (const RegretPart& part : kRegretParts) sum += tally.regret_curve[k].*part.member;
        EXPECT_NEAR(sum, oracle.curve[k] - tally.curve[k], 1e-9);
      }
      EXPECT_EQ(tally.regret, tally.regret_curve[tally.recorded - 1]);
      if (!lane.learns_reward()) {
        EXPECT_EQ(tally.regret.wrong_deployment, 0.0);
      }
      if (lane.score == Score::oracle_index && lane.order == Order::by_score) {
        EXPECT_EQ(tally.regret, RegretParts());
      }
    }
}

// The oracle's stopping, but in any order.
TEST(RegretParts, OfARandomOrderAreItsOrderAlone) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 0, 300, 6);
  LaneSpec lane;
  lane.score = Score::oracle_index;
  lane.order = Order::random;
  const RegretParts parts = run_reference_lane(replication, lane, {}).regret;
  EXPECT_GT(parts.wrong_order, 0.0);
  EXPECT_EQ(parts, (RegretParts{parts.wrong_order, 0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace pandora
