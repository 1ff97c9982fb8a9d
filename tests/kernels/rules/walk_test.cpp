#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/rules/period.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

// A period's outcome in a form that can be compared and printed.
struct Walked {
  std::vector<int> order;
  int deployed;
  friend bool operator==(const Walked&, const Walked&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Walked& walked) {
    for (int box : walked.order) out << box << " ";
    return out << "-> " << walked.deployed;
  }
};

Walked walk(const LaneSpec& spec, const std::vector<double>& score, const std::vector<double>& mu,
            const std::vector<int>& permutation = {}) {
  std::vector<int> calls(mu.size(), 0);
  const PeriodOutcome outcome =
      walk_period(spec, static_cast<int>(mu.size()), score.data(), permutation.data(), [&](int box) {
        ++calls[box];
        return mu[box];
      });
  Walked walked{{outcome.order, outcome.order + outcome.queried}, outcome.deployed};
  for (int box = 0; box < static_cast<int>(mu.size()); ++box)  // a reward is asked for once, and only for an opened box
    EXPECT_EQ(calls[box], std::count(walked.order.begin(), walked.order.end(), box));
  return walked;
}

LaneSpec cascade(const std::vector<int>& list, const std::vector<double>& threshold) {
  LaneSpec spec;
  spec.order = Order::listed;
  spec.stop = Stop::last_reaches_threshold;
  spec.length = static_cast<int>(list.size());
  std::copy(list.begin(), list.end(), spec.list);
  std::copy(threshold.begin(), threshold.end(), spec.threshold);
  return spec;
}

TEST(SortBoxes, DescendingWithTiesToTheLowestBox) {
  const double key[] = {1, 3, 2, 3, 1};
  int order[5];
  sort_boxes(5, key, order);
  EXPECT_EQ(std::vector<int>(order, order + 5), (std::vector<int>{1, 3, 2, 0, 4}));
}

TEST(WalkByScore, OpensInDescendingOrderUntilTheBestReachesTheNextScore) {
  EXPECT_EQ(walk(test::weitzman_rule(), {0.65, 0.9, 0.7}, {0.4, 0.6, 0.3}), (Walked{{1, 2, 0}, 1}));
}

TEST(WalkByScore, StopsAsSoonAsTheBestReachesTheNextScore) {
  EXPECT_EQ(walk(test::weitzman_rule(), {0.5, 0.9, 0.7}, {0.4, 0.71, 0.3}), (Walked{{1}, 1}));
  EXPECT_EQ(walk(test::weitzman_rule(), {0.5, 0.9, 0.7}, {0.4, 0.7, 0.3}), (Walked{{1}, 1}));  // equal values stop it
}

TEST(WalkByScore, TheBestOfAllOpenedCountsNotTheLast) {
  // 0.6 stays the best after the poor second response. It stops the walk before the third box, whose score is 0.55.
  EXPECT_EQ(walk(test::weitzman_rule(), {0.55, 0.9, 0.7}, {0.9, 0.6, 0.1}), (Walked{{1, 2}, 1}));
}

TEST(WalkByScore, TiedScoresGoToTheLowestBox) {
  EXPECT_EQ(walk(test::weitzman_rule(), {0.5, 0.5, 0.5}, {0.1, 0.2, 0.3}), (Walked{{0, 1, 2}, 2}));
}

TEST(WalkByScore, TiedRewardsDeployTheLowestBox) {
  EXPECT_EQ(walk(test::weitzman_rule(), {0.7, 0.8, 0.9}, {0.3, 0.3, 0.3}), (Walked{{2, 1, 0}, 0}));
  EXPECT_EQ(walk(test::weitzman_rule(), {0.9, 0.8, 0.7}, {0.3, 0.3, 0.3}), (Walked{{0, 1, 2}, 0}));
}

TEST(WalkByScore, ANegativeIndexStillOpensTheFirstBoxAndOnlyThat) {
  EXPECT_EQ(walk(test::weitzman_rule(), {-0.3, -0.1, -0.2}, {0.9, 0.0, 0.9}), (Walked{{1}, 1}));
}

TEST(WalkByScore, OneBox) {
  EXPECT_EQ(walk(test::weitzman_rule(), {-1.0}, {0.0}), (Walked{{0}, 0}));
}

TEST(WalkByScore, NegativeEstimatesAreComparedToo) {
  // Learned payoffs may be negative. The first value must not lose against an initial best of zero.
  LaneSpec spec = test::weitzman_rule();
  spec.stop = Stop::never;
  EXPECT_EQ(walk(spec, {3.0, 2.0, 1.0}, {-0.5, -0.2, -0.3}), (Walked{{0, 1, 2}, 1}));
}

TEST(WalkThresholds, CompareTheLastResponse) {
  // Box 0 is in position 1. Its own response 0.2 is below 0.4, although the best so far, 0.5, is not.
  EXPECT_EQ(walk(cascade({2, 0, 1}, {0.6, 0.4}), {}, {0.2, 0.1, 0.5}), (Walked{{2, 0, 1}, 2}));
}

TEST(WalkThresholds, EqualityStopsAndTheBestOfTheOpenedIsDeployed) {
  EXPECT_EQ(walk(cascade({2, 0, 1}, {0.6, 0.4}), {}, {0.4, 0.9, 0.5}), (Walked{{2, 0}, 2}));
  EXPECT_EQ(walk(cascade({2, 0, 1}, {0.5, 0.4}), {}, {0.4, 0.9, 0.5}), (Walked{{2}, 2}));
}

TEST(WalkThresholds, BelongToPositionsNotToBoxes) {
  // Box 1 is in position 0, so threshold[0] = 0.1 counts for it, and not threshold[1].
  EXPECT_EQ(walk(cascade({1, 0}, {0.1, 0.9}), {}, {0.0, 0.2}), (Walked{{1}, 1}));
}

TEST(WalkListed, OpensNothingOutsideTheList) {
  EXPECT_EQ(walk(cascade({1}, {}), {}, {0.9, 0.1, 0.9}), (Walked{{1}, 1}));
  EXPECT_EQ(walk(cascade({2, 1}, {1.0}), {}, {0.9, 0.3, 0.1}), (Walked{{2, 1}, 1}));
}

TEST(WalkListed, ScoresLeftAreThoseOfTheList) {
  LaneSpec spec = cascade({1, 0}, {});
  spec.stop = Stop::best_reaches_scores_left;
  // Because of its score 0.9, box 2 would be opened next, but it is not in the list.
  EXPECT_EQ(walk(spec, {0.2, 0.1, 0.9}, {0.0, 0.3, 0.0}), (Walked{{1}, 1}));
}

TEST(WalkFixedStops, AfterFirstAndNever) {
  LaneSpec spec = test::weitzman_rule();
  spec.stop = Stop::after_first;
  EXPECT_EQ(walk(spec, {0.1, 0.2, 0.9}, {0.9, 0.9, 0.0}), (Walked{{2}, 2}));
  spec.stop = Stop::never;
  EXPECT_EQ(walk(spec, {0.1, 0.2, 0.3}, {0.1, 0.2, 1.0}), (Walked{{2, 1, 0}, 2}));
}

TEST(WalkRandom, StopsAtTheLargestScoreLeftWhereverItStands) {
  LaneSpec spec = test::weitzman_rule();
  spec.order = Order::random;
  // After box 0 the next box has the score 0.1, but a box with 0.8 is still to come.
  EXPECT_EQ(walk(spec, {0.5, 0.1, 0.8}, {0.6, 0.0, 0.9}, {0, 1, 2}), (Walked{{0, 1, 2}, 2}));
  // The score of an opened box does not count any more.
  EXPECT_EQ(walk(spec, {0.5, 0.1, 0.8}, {0.6, 0.0, 0.3}, {2, 0, 1}), (Walked{{2, 0}, 0}));
}

// The rules, written out: open the next box until a rule says stop.
Walked naive_walk(const LaneSpec& spec, const std::vector<double>& score, const std::vector<double>& mu,
                  const std::vector<int>& permutation) {
  std::vector<int> queue;
  if (spec.order == Order::by_score) {
    queue.resize(mu.size());
    std::iota(queue.begin(), queue.end(), 0);
    std::stable_sort(queue.begin(), queue.end(), [&](int a, int b) { return score[a] > score[b]; });
  } else if (spec.order == Order::listed) {
    queue.assign(spec.list, spec.list + spec.length);
  } else {
    queue = permutation;
  }
  std::vector<int> opened;
  while (true) {
    const int box = queue.front();
    queue.erase(queue.begin());
    opened.push_back(box);
    double best = mu[opened[0]], left = -1e300;
    for (int o : opened) best = std::max(best, mu[o]);
    for (int q : queue) left = std::max(left, score[q]);
    const bool stop = queue.empty() || spec.stop == Stop::after_first ||
                      (spec.stop == Stop::best_reaches_scores_left && best >= left) ||
                      (spec.stop == Stop::last_reaches_threshold && mu[box] >= spec.threshold[opened.size() - 1]);
    if (!stop) continue;
    int deployed = static_cast<int>(mu.size());
    for (int o : opened)
      if (mu[o] == best) deployed = std::min(deployed, o);
    return {opened, deployed};
  }
}

// Random periods on a coarse grid of values, so that ties of every kind are common.
TEST(Walk, EqualsTheRulesInWords) {
  std::mt19937 engine(8);
  const auto pick = [&engine](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 50000; ++trial) {
    const int boxes = 1 + pick(6);
    std::vector<double> score, mu;
    std::vector<int> permutation(static_cast<std::size_t>(boxes));
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), engine);
    LaneSpec spec;
    spec.order = static_cast<Order>(pick(3));
    spec.stop = static_cast<Stop>(pick(4));
    spec.length = 1 + pick(boxes);
    for (int k = 0; k < boxes; ++k) {
      score.push_back(0.25 * (pick(6) - 1));
      mu.push_back(0.25 * pick(5));
      spec.list[k] = permutation[(k + 1) % boxes];
      spec.threshold[k] = 0.25 * pick(5);
    }
    ASSERT_EQ(walk(spec, score, mu, permutation), naive_walk(spec, score, mu, permutation)) << "trial " << trial;
  }
}

TEST(RandomPermutation, IsAPermutationForEveryNumberOfBoxes) {
  const Stream stream{1, Purpose::random_order, 0, 0, 0};
  for (int boxes = 1; boxes <= kMaxBoxes; ++boxes)
    for (std::uint32_t period = 0; period < 200; ++period) {
      int order[kMaxBoxes];
      random_permutation(stream, period, boxes, order);
      std::sort(order, order + boxes);
      for (int k = 0; k < boxes; ++k) ASSERT_EQ(order[k], k);
    }
}

TEST(RandomPermutation, SortsTheBoxesByTheirWords) {
  const Stream stream{1, Purpose::random_order, 2, 1, 5};
  for (std::uint32_t period = 0; period < 100; ++period) {
    int order[7];
    random_permutation(stream, period, 7, order);
    const auto word = [&](int box) {
      return naive::block(stream, static_cast<std::uint32_t>(box / 4), period, 0)[box % 4];
    };
    for (int k = 0; k + 1 < 7; ++k) ASSERT_GT(word(order[k]), word(order[k + 1]));
  }
}

// All A! orders are equally frequent. A false alarm has a probability of 3 in a million for each A.
TEST(RandomPermutation, IsUniform) {
  const Stream stream{7, Purpose::random_order, 0, 0, 0};
  for (int boxes = 2; boxes <= 8; ++boxes) {
    int orders = 1;
    for (int k = 2; k <= boxes; ++k) orders *= k;
    const std::uint32_t periods = static_cast<std::uint32_t>(std::max(20000, 20 * orders));
    std::vector<int> counts(static_cast<std::size_t>(orders), 0);
    for (std::uint32_t period = 0; period < periods; ++period) {
      int order[kMaxBoxes], rank = 0;
      random_permutation(stream, period, boxes, order);
      for (int k = 0; k < boxes; ++k) {  // the rank in lexicographic order (Lehmer code)
        int smaller = 0;
        for (int j = k + 1; j < boxes; ++j) smaller += order[j] < order[k];
        rank = rank * (boxes - k) + smaller;
      }
      ++counts[static_cast<std::size_t>(rank)];
    }
    EXPECT_LT(std::abs(statistics::chi_square_score(counts)), statistics::kAlarm) << boxes;
  }
}

TEST(RandomPermutation, PeriodsAndReplicationsDiffer) {
  std::map<std::vector<int>, int> seen;
  for (std::uint32_t replication : {0u, 1u})
    for (std::uint32_t period = 0; period < 50; ++period) {
      int order[16];
      random_permutation({1, Purpose::random_order, 0, 0, replication}, period, 16, order);
      ++seen[std::vector<int>(order, order + 16)];
    }
  EXPECT_EQ(seen.size(), 100u);  // among 16! orders, none repeats by chance
}

}  // namespace
}  // namespace pandora
