#include "kernels/rules/regret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Values = std::vector<double>;
using Boxes = std::vector<int>;

// Opens boxes one after the other until done(opened boxes, boxes left).
int opened_until(const Boxes& order, const std::function<bool(const Boxes&, const Boxes&)>& done) {
  for (std::size_t k = 1; k < order.size(); ++k) {
    const auto cut = order.begin() + static_cast<std::ptrdiff_t>(k);
    if (done({order.begin(), cut}, {cut, order.end()})) return static_cast<int>(k);
  }
  return static_cast<int>(order.size());
}

// Weitzman's rule stops when the best answer reaches the number of every box left.
int opened_by_weitzman(const Boxes& order, const Values& answer, const Values& number) {
  return opened_until(order, [&](const Boxes& open, const Boxes& left) {
    return std::all_of(left.begin(), left.end(), [&](int b) {
      return std::any_of(open.begin(), open.end(), [&](int a) { return answer[a] >= number[b]; });
    });
  });
}

double gained(const Boxes& order, int opened, const Values& mu, const Values& cost) {
  double best = -1e9, spent = 0.0;
  for (int k = 0; k < opened; ++k) {
    best = std::max(best, mu[order[k]]);
    spent += cost[order[k]];
  }
  return best - spent;
}

// The costs of the two steps from the oracle to a lane: other order, and other stopping.
struct Steps {
  double order = 0.0, early = 0.0, many = 0.0;
};
Steps steps(double order, double stop, int lane_opens, int oracle_opens) {
  return {order, lane_opens < oracle_opens ? stop : 0.0, lane_opens > oracle_opens ? stop : 0.0};
}

struct Period {
  Values mu, cost, sigma;
  Boxes by_sigma, order;  // the oracle's order; the lane's order, with the left-out boxes at its end
  int queried = 0;        // the number of boxes that the lane opens

  // The path that first takes the lane's order, and then the lane's stopping.
  Steps first() const {
    const int stop = opened_by_weitzman(order, mu, sigma);
    const double between = gained(order, stop, mu, cost);
    return steps(oracle() - between, between - gained(order, queried, mu, cost), queried, stop);
  }
  // The path that first takes the lane's stopping, which opens `own` boxes in the oracle's order, and then the lane's
  // order.
  Steps second(int own) const {
    const double between = gained(by_sigma, own, mu, cost);
    return steps(between - gained(order, queried, mu, cost), oracle() - between, own,
                 opened_by_weitzman(by_sigma, mu, sigma));
  }
  double oracle() const { return gained(by_sigma, opened_by_weitzman(by_sigma, mu, sigma), mu, cost); }
};

Boxes by_descending(const Values& key) {
  Boxes out(key.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) { return key[a] > key[b]; });
  return out;
}

void append_missing(const Boxes& from, Boxes& to) {
  for (const int a : from)
    if (std::find(to.begin(), to.end(), a) == to.end()) to.push_back(a);
}

void expect_mean_of(const Steps& a, const Steps& b, const RegretParts& parts) {
  EXPECT_NEAR(parts.wrong_order, (a.order + b.order) / 2.0, 1e-12);
  EXPECT_NEAR(parts.too_early, (a.early + b.early) / 2.0, 1e-12);
  EXPECT_NEAR(parts.too_many, (a.many + b.many) / 2.0, 1e-12);
  EXPECT_NEAR(parts.wrong_order_gap, a.order - b.order, 1e-12);
  EXPECT_NEAR(parts.too_early_gap, a.early - b.early, 1e-12);
  EXPECT_NEAR(parts.wrong_order_gap + parts.too_early_gap, -(a.many - b.many), 1e-12);
}

TEST(RegretParts, AreMeansOfBothPathsReplayedBoxByBox) {
  test::Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const int A = 1 + random.below(5);
    Period p;
    for (int a = 0; a < A; ++a) {
      p.mu.push_back(random.uniform(0.0, 1.0));
      p.cost.push_back(random.uniform(0.0, 0.3));
      p.sigma.push_back(random.uniform(-0.2, 1.0));
    }
    p.by_sigma = by_descending(p.sigma);
    p.order = p.by_sigma;
    for (int k = A - 1; k > 0; --k) std::swap(p.order[k], p.order[random.below(k + 1)]);
    PeriodOutcome outcome;
    outcome.ranked = 1 + random.below(A);
    outcome.queried = p.queried = 1 + random.below(outcome.ranked);
    outcome.deployed = p.order[random.below(outcome.queried)];
    std::copy(p.order.begin(), p.order.begin() + outcome.ranked, outcome.order);
    p.order.resize(outcome.ranked);
    append_missing(p.by_sigma, p.order);
    const int own = 1 + random.below(A);

    Boxes asked;
    const RegretParts parts =
        regret_parts(outcome, A, p.mu.data(), p.cost.data(), p.sigma.data(), [&](const int* order) {
          asked.assign(order, order + A);
          return own;
        });
    EXPECT_EQ(asked, p.by_sigma);
    expect_mean_of(p.first(), p.second(own), parts);
    double best = 0.0, spent = 0.0;
    for (int k = 0; k < outcome.queried; ++k) {
      best = std::max(best, p.mu[p.order[k]]);
      spent += p.cost[p.order[k]];
    }
    EXPECT_NEAR(parts.wrong_deployment, best - p.mu[outcome.deployed], 1e-12);
    EXPECT_NEAR(parts.wrong_order + parts.too_early + parts.too_many + parts.wrong_deployment,
                p.oracle() - (p.mu[outcome.deployed] - spent), 1e-12);
  }
}

// There are boxes L, M and H. L always pays 0.5 and costs 0.3. M pays 1 half of the time and costs 0.45, so its index
// is 0.1. H pays the same and costs 0.05, so its index is 0.9. A lane opens L first and stops there, which earns 0.20.
// Its order with the oracle's stopping earns 0.10, because this stopping is not the best one in a wrong order. So this
// path alone would charge the order with more than the whole regret.
RegretParts of_low_middle_high(const LaneSpec& lane, const Values& score) {
  RegretParts sum;
  const Values cost = {0.3, 0.45, 0.05}, sigma = {0.2, 0.1, 0.9};
  for (const double middle : {0.0, 1.0})
    for (const double high : {0.0, 1.0}) {
      const Values mu = {0.5, middle, high};
      const PeriodOutcome outcome = walk_period(lane, 3, score.data(), nullptr, [&](int a) { return mu[a]; });
      EXPECT_EQ(outcome.queried, 1);
      EXPECT_EQ(outcome.deployed, 0);
      sum.add(regret_parts(outcome, 3, mu.data(), cost.data(), sigma.data(), [&](const int* order) {
        return opened_by_lane(lane, lane.stop, outcome.ranked, score.data(), mu.data(), order);
      }));
    }
  return sum;
}

TEST(RegretParts, DoNotChargeAWrongOrderWithAStopThatSuitsIt) {
  LaneSpec lane;
  lane.score = Score::learned_index;
  const Values score = {0.6, 0.4, 0.3};
  // On the second path, the lane's rule in the oracle's order stops as the oracle does: after H if H pays 1, otherwise
  // after L.
  const RegretParts weitzman = of_low_middle_high(lane, score);
  EXPECT_NEAR(weitzman.wrong_order / 4.0, (0.45 + 0.35) / 2.0, 1e-12);
  EXPECT_NEAR(weitzman.too_early / 4.0, (-0.10 + 0.0) / 2.0, 1e-12);
  EXPECT_NEAR(weitzman.wrong_order_gap / 4.0, 0.10, 1e-12);
  // In the oracle's order, a lane that stops after the first box loses 0.10 by this rule.
  lane.stop = Stop::after_first;
  const RegretParts first = of_low_middle_high(lane, score);
  EXPECT_NEAR(first.wrong_order / 4.0, (0.45 + 0.25) / 2.0, 1e-12);
  EXPECT_NEAR(first.too_early / 4.0, (-0.10 + 0.10) / 2.0, 1e-12);
  EXPECT_NEAR(first.wrong_order_gap / 4.0, 0.20, 1e-12);
  for (const RegretParts& parts : {weitzman, first}) {
    EXPECT_EQ(parts.too_many, 0.0);
    EXPECT_NEAR((parts.wrong_order + parts.too_early) / 4.0, 0.55 - 0.20, 1e-12);
  }
}

TEST(OpenedByLane, IsWhatEachRuleOpensInAnotherOrder) {
  const Values score = {0.9, 0.5, 0.45}, response = {0.2, 0.4, 0.8};
  const int order[] = {1, 2, 0};
  LaneSpec lane;
  const auto opened = [&](Stop stop, int length) {
    return opened_by_lane(lane, stop, length, score.data(), response.data(), order);
  };
  EXPECT_EQ(opened(Stop::best_reaches_scores_left, 3), 3);  // 0.8 does not reach 0.9, the score of box 0,
  EXPECT_EQ(opened(Stop::best_reaches_scores_left, 2), 2);  // but a list of two leaves box 0 out
  lane.threshold[0] = 0.5;
  lane.threshold[1] = 0.7;
  EXPECT_EQ(opened(Stop::last_reaches_threshold, 3), 2);
  lane.threshold[0] = 0.3;
  EXPECT_EQ(opened(Stop::last_reaches_threshold, 3), 1);
  EXPECT_EQ(opened(Stop::after_first, 3), 1);
  EXPECT_EQ(opened(Stop::never, 3), 3);
}

// For the lanes of every policy, at every checkpoint, in both engines. If mu* is known, no wrong box is deployed.
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

// Computes both paths of whole lanes from the lanes' records. For outputs that were not opened, mu* stands in.
TEST(RegretParts, OfALaneFollowFromItsScoresAndEstimates) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 12, 300, 4);
  const Tape& tape = replication.tape;
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned}) {
    LaneSpec lane;
    lane.score = Score::learned_index;
    lane.learning = Learning::online;
    lane.reward = reward;
    lane.c_rho = lane.c_theta = 0.1;
    LaneRecord record;
    const LaneTally tally = run_reference_lane(replication, lane, {}, &record);
    RegretParts sum;
    int unseen = 0;  // periods in which the lane's stopping asks for an output that it did not open
    for (int t = 0; t < tape.online_rows; ++t) {
      const std::size_t at = tape.at(tape.online_row(t), 0), record_at = static_cast<std::size_t>(t) * 3;
      const auto three = [](const auto& from, std::size_t first) {
        return Values(from.begin() + static_cast<std::ptrdiff_t>(first),
                      from.begin() + static_cast<std::ptrdiff_t>(first) + 3);
      };
      const PeriodOutcome& outcome = record.outcomes[static_cast<std::size_t>(t)];
      Period p{three(tape.mu, at), three(tape.cost, at), three(replication.sigma, at), {}, {}, outcome.queried};
      p.by_sigma = by_descending(p.sigma);
      p.order.assign(outcome.order, outcome.order + outcome.ranked);
      Values answer = p.mu;
      for (int k = 0; k < outcome.queried; ++k) answer[p.order[k]] = record.rewards[record_at + p.order[k]];
      const int own = opened_by_weitzman(p.by_sigma, answer, three(record.scores, record_at));
      unseen += std::find(p.order.begin(), p.order.begin() + outcome.queried, p.by_sigma[0]) ==
                        p.order.begin() + outcome.queried
                    ? 1
                    : 0;
      const Steps first = p.first(), second = p.second(own);
      sum.wrong_order += (first.order + second.order) / 2.0;
      sum.too_early += (first.early + second.early) / 2.0;
      sum.too_many += (first.many + second.many) / 2.0;
      sum.wrong_order_gap += first.order - second.order;
      sum.too_early_gap += first.early - second.early;
    }
    EXPECT_GT(unseen, 10);
    EXPECT_NEAR(tally.regret.wrong_order, sum.wrong_order, 1e-9);
    EXPECT_NEAR(tally.regret.too_early, sum.too_early, 1e-9);
    EXPECT_NEAR(tally.regret.too_many, sum.too_many, 1e-9);
    EXPECT_NEAR(tally.regret.wrong_order_gap, sum.wrong_order_gap, 1e-9);
    EXPECT_NEAR(tally.regret.too_early_gap, sum.too_early_gap, 1e-9);
    EXPECT_NE(sum.wrong_order_gap, 0.0);
  }
}

// The lane stops like the oracle but has random orders. Then both paths give the same parts.
TEST(RegretParts, OfARandomOrderAreItsOrderAlone) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 0, 300, 6);
  LaneSpec lane;
  lane.score = Score::oracle_index;
  lane.order = Order::random;
  const RegretParts parts = run_reference_lane(replication, lane, {}).regret;
  EXPECT_GT(parts.wrong_order, 0.0);
  EXPECT_EQ(parts, (RegretParts{parts.wrong_order, 0.0, 0.0, 0.0, 0.0, 0.0}));
}

// The lane has the oracle's order but opens every box.
TEST(RegretParts, OfTheOraclesOrderAreItsStoppingAlone) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 0, 300, 6);
  LaneSpec lane;
  lane.score = Score::oracle_index;
  lane.stop = Stop::never;
  const RegretParts parts = run_reference_lane(replication, lane, {}).regret;
  EXPECT_GT(parts.too_many, 0.0);
  EXPECT_EQ(parts, (RegretParts{0.0, 0.0, parts.too_many, 0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace pandora
