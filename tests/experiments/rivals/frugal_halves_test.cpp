// Policies that put one half of FrugalGPT's cascade into Weitzman's rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "pandora/cascade_search.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// If the reward is unknown, their search sees only realised rewards. So other mu* in the calibration change nothing.
TEST(FrugalHalves, DoNotSeeMuWhereTheyDoNotKnowTheReward) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 12, 200, 51);
  Replication other = replication;
  for (int row = 0; row <= 12; ++row)
    for (int a = 0; a < 3; ++a) {
      double& mu = other.tape.mu[other.tape.at(row, a)];
      mu = 1.0 - mu;
    }
  for (const char* name : {"frugal_order", "frugal_stop"}) {
    const PolicyVariant unknown = find_policy(name)->variants({1.0})[1];
    ASSERT_EQ(unknown.reward, "unknown");
    EXPECT_TRUE(find_policy(name)->needs_calibration) << name;
    const LaneSpec one = unknown.lane(replication, 12), two = unknown.lane(other, 12);
    EXPECT_TRUE(std::equal(one.list, one.list + kMaxBoxes, two.list)) << name;
    EXPECT_TRUE(std::equal(one.threshold, one.threshold + kMaxBoxes, two.threshold)) << name;
    const PolicyVariant known = find_policy(name)->variants({1.0})[0];
    const LaneSpec seen = known.lane(other, 12), before = known.lane(replication, 12);
    EXPECT_FALSE(std::equal(seen.list, seen.list + kMaxBoxes, before.list) &&
                 std::equal(seen.threshold, seen.threshold + kMaxBoxes, before.threshold))
        << name << ": the other mu* must make a difference to who sees them";
  }
}

// One half comes from the cascade, the other from learned indices without optimism.
TEST(FrugalHalves, AreHalvesOfFrugalGptsCascade) {
  constexpr int kBoxes = 4;
  const Replication replication = test::small_replication(test::small_dimensions(kBoxes, 4, 2), Regime::B, 40, 10, 51);
  const FrugalCascade cascade = search_cascade(replication.tape, 40);
  const std::size_t length = cascade.boxes.size();
  ASSERT_GT(length, 1u);
  const LaneSpec order = find_policy("frugal_order")->variants({1.0})[0].lane(replication, 40);
  EXPECT_EQ(order.order, Order::listed);
  EXPECT_EQ(order.stop, Stop::best_reaches_scores_left);
  ASSERT_EQ(order.length, kBoxes);
  EXPECT_TRUE(std::equal(cascade.boxes.begin(), cascade.boxes.end(), order.list));
  EXPECT_TRUE(std::is_permutation(order.list, order.list + kBoxes, std::vector<int>{0, 1, 2, 3}.begin()));

  const LaneSpec stop = find_policy("frugal_stop")->variants({1.0})[0].lane(replication, 40);
  EXPECT_EQ(stop.order, Order::by_score);
  EXPECT_EQ(stop.stop, Stop::last_reaches_threshold);
  for (std::size_t j = 0; j < kMaxBoxes; ++j)  // every response is accepted from the cascade's last box on
    EXPECT_EQ(stop.threshold[j], j + 1 < length ? cascade.thresholds[j] : -std::numeric_limits<double>::infinity());
  for (const LaneSpec& lane : {order, stop}) {
    EXPECT_EQ(lane.score, Score::learned_index);
    EXPECT_EQ(lane.learning, Learning::online);
    EXPECT_EQ(lane.c_rho, 0.0);
  }
}

}  // namespace
}  // namespace pandora
