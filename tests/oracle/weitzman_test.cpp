// The optimal policy of Proposition prop:oracle-weitzman, with indices from the oracle and the control flow of the
// walk.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "host/lanes/model/draw_instance.hpp"
#include "kernels/rules/period.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

// A box with finitely many values and a fixed cost.
struct Box {
  std::vector<double> value, p;
  double cost;
};

// Calls visit(values, probability) for each joint outcome.
void for_each_outcome(const std::vector<Box>& boxes,
                      const std::function<void(const std::vector<double>&, double)>& visit) {
  std::vector<double> values(boxes.size());
  const std::function<void(std::size_t, double)> descend = [&](std::size_t a, double probability) {
    if (a == boxes.size()) return visit(values, probability);
    for (std::size_t i = 0; i < boxes[a].value.size(); ++i) {
      values[a] = boxes[a].value[i];
      descend(a + 1, probability * boxes[a].p[i]);
    }
  };
  descend(0, 1.0);
}

// The expected utility of a walk with the given indices.
double policy_value(const std::vector<Box>& boxes, const std::vector<double>& sigma) {
  double utility = 0.0;
  for_each_outcome(boxes, [&](const std::vector<double>& values, double probability) {
    const PeriodOutcome outcome = walk_period(test::weitzman_rule(), static_cast<int>(boxes.size()), sigma.data(),
                                              nullptr, [&](int box) { return values[box]; });
    double payoff = values[outcome.deployed];
    for (int k = 0; k < outcome.queried; ++k) payoff -= boxes[outcome.order[k]].cost;
    utility += probability * payoff;
  });
  return utility;
}

// E[max_a min(V_a, sigma_a)], (eq:max:utility).
double capped_value(const std::vector<Box>& boxes, const std::vector<double>& sigma) {
  double value = 0.0;
  for_each_outcome(boxes, [&](const std::vector<double>& values, double probability) {
    double best = -1e300;
    for (std::size_t a = 0; a < values.size(); ++a) best = std::max(best, std::min(values[a], sigma[a]));
    value += probability * best;
  });
  return value;
}

// The value of the best adaptive policy. From every set of opened boxes and best value, it may stop or open any other
// box. At least one box must be opened, because one output must be deployed.
double best_of_all_policies(const std::vector<Box>& boxes, unsigned opened = 0, double best = -1e300) {
  double value = opened == 0 ? -1e300 : best;
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    if (opened >> a & 1u) continue;
    double go_on = -boxes[a].cost;
    for (std::size_t i = 0; i < boxes[a].value.size(); ++i)
      go_on += boxes[a].p[i] * best_of_all_policies(boxes, opened | 1u << a, std::max(best, boxes[a].value[i]));
    value = std::max(value, go_on);
  }
  return value;
}

std::vector<double> indices(const std::vector<Box>& boxes) {
  std::vector<double> sigma;
  for (const Box& box : boxes) sigma.push_back(naive::reservation_index(box.value, box.p, box.cost));
  return sigma;
}

// The example of the paper's Section "Model": the cascade earns 0.54, and the best single box 0.5.
TEST(Weitzman, ThePapersTwoBoxes) {
  const std::vector<Box> boxes = {{{1.0}, {1.0}, 0.5}, {{1.0, 0.0}, {0.1, 0.9}, 0.01}};
  const std::vector<double> sigma = indices(boxes);
  EXPECT_NEAR(sigma[0], 0.5, 1e-12);
  EXPECT_NEAR(sigma[1], 0.9, 1e-12);
  EXPECT_NEAR(policy_value(boxes, {0.5, 0.9}), 0.54, 1e-12);
  EXPECT_NEAR(best_of_all_policies(boxes), 0.54, 1e-12);
  EXPECT_NEAR(capped_value(boxes, {0.5, 0.9}), 0.54, 1e-12);
  double best_single = -1.0;
  for (const Box& box : boxes) {
    double mean = -box.cost;
    for (std::size_t i = 0; i < box.value.size(); ++i) mean += box.p[i] * box.value[i];
    best_single = std::max(best_single, mean);
  }
  EXPECT_NEAR(best_single, 0.5, 1e-12);
}

std::vector<Box> random_boxes(std::mt19937& engine, double largest_cost) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::vector<Box> boxes(2 + engine() % 3);
  for (Box& box : boxes) {
    const std::size_t atoms = 2 + engine() % 2;
    double total = 0.0;
    for (std::size_t i = 0; i < atoms; ++i) {
      box.value.push_back(unit(engine));
      box.p.push_back(0.05 + unit(engine));
      total += box.p.back();
    }
    for (double& p : box.p) p /= total;
    box.cost = 1e-3 + largest_cost * unit(engine);
  }
  return boxes;
}

TEST(Weitzman, NoAdaptivePolicyDoesBetter) {
  std::mt19937 engine(17);
  int wrong_order_loses = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::vector<Box> boxes = random_boxes(engine, trial % 4 == 3 ? 1.2 : 0.2);
    const std::vector<double> sigma = indices(boxes);
    const double optimum = best_of_all_policies(boxes);
    ASSERT_NEAR(policy_value(boxes, sigma), optimum, 1e-10) << "trial " << trial;
    ASSERT_NEAR(capped_value(boxes, sigma), optimum, 1e-10) << "trial " << trial;
    // The instances are not trivial, because wrong indices lose utility.
    std::vector<double> reversed(sigma.rbegin(), sigma.rend());
    wrong_order_loses += policy_value(boxes, reversed) < optimum - 1e-3;
  }
  EXPECT_GT(wrong_order_loses, 200);
}

// If costs are above all values, every index is negative, and one box is opened all the same.
TEST(Weitzman, NegativeIndicesOpenTheBestBoxOnly) {
  const std::vector<Box> boxes = {{{0.9, 0.1}, {0.5, 0.5}, 0.8}, {{0.6, 0.2}, {0.5, 0.5}, 0.5}};
  const std::vector<double> sigma = indices(boxes);
  EXPECT_NEAR(sigma[0], -0.3, 1e-12);
  EXPECT_NEAR(sigma[1], -0.1, 1e-12);
  EXPECT_NEAR(policy_value(boxes, sigma), -0.1, 1e-12);
  EXPECT_NEAR(best_of_all_policies(boxes), -0.1, 1e-12);
}

// Tests (eq:max:utility) on a drawn instance. Over fresh periods, the oracle's utility minus max_a min(mu, sigma) has
// mean zero if and only if the indices solve their equations for the opened boxes. The bound is 4.5 standard errors,
// from the periods and from the sample behind the indices.
class WeitzmanCell : public testing::TestWithParam<std::tuple<int, Regime>> {};
INSTANTIATE_TEST_SUITE_P(Weitzman, WeitzmanCell,
                         testing::Combine(testing::Values(0, 1, 2), testing::Values(Regime::A, Regime::B)));

TEST_P(WeitzmanCell, UtilityIsTheMeanOfTheCappedValues) {
  const auto [environment, regime] = GetParam();
  constexpr int kPeriods = 40000;
  const Instance instance = draw_instance({}, paper_environments()[environment], regime, 2, 5);
  const ShockSample sample = draw_shock_sample(instance, 200000);
  const Tape tape = draw_tape(instance, 0, kPeriods);
  const std::vector<double> sigma = oracle_indices(instance, sample, tape.contexts, {});
  std::vector<double> difference;
  double queries = 0.0;
  for (int t = 0; t < kPeriods; ++t) {
    const int row = tape.online_row(t);
    const double* index = sigma.data() + tape.at(row, 0);
    const PeriodOutcome outcome =
        walk_period(test::weitzman_rule(), 3, index, nullptr, [&](int box) { return tape.mu[tape.at(row, box)]; });
    double utility = tape.mu[tape.at(row, outcome.deployed)], capped = -1e300;
    for (int k = 0; k < outcome.queried; ++k) utility -= tape.cost[tape.at(row, outcome.order[k])];
    for (int a = 0; a < 3; ++a) capped = std::max(capped, std::min(tape.mu[tape.at(row, a)], index[a]));
    difference.push_back(utility - capped);
    queries += outcome.queried;
  }
  const statistics::Mean found = statistics::mean(difference);
  // The standard error of sigma is sd / (P(mu > sigma) sqrt(M)). For each opened box, it moves the difference by at
  // most P(mu > sigma) times as much.
  const double of_indices = 0.5 * queries / kPeriods / std::sqrt(200000.0);
  EXPECT_LT(std::abs(found.value), statistics::kAlarm * std::hypot(found.standard_error, of_indices));
  EXPECT_LT(found.standard_error, 2e-3);  // so the comparison is precise
  EXPECT_GT(queries / kPeriods, 1.0);
}

}  // namespace
}  // namespace pandora
