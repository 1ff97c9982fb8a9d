// Compares the programme for finite laws with brute force, which follows every policy through every history.
#include "oracle/exact_programme.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace pandora {
namespace {

// The value of the best policy after a history of openings, each a pair (box, value). It needs no states.
double brute_force(const FiniteProblem& problem, std::vector<std::pair<std::size_t, double>>& history) {
  double best = problem.outside.value_or(-INFINITY);
  for (const auto& [box, value] : history) best = std::max(best, value);
  for (std::size_t box = 0; box < problem.boxes.size(); ++box) {
    const FiniteBox& of = problem.boxes[box];
    if (std::ranges::count_if(history, [&](const auto& opening) { return opening.first == box; }) == of.openings)
      continue;
    double mean = 0.0, further = -of.cost;
    for (std::size_t k = 0; k < of.values.size(); ++k) {
      mean += of.probabilities[k] * of.values[k];
      history.emplace_back(box, of.values[k]);
      further += of.probabilities[k] * brute_force(problem, history);
      history.pop_back();
    }
    best = std::max(best, further);
    if (problem.uninspected) best = std::max(best, mean);
  }
  return best;
}

FiniteProblem drawn(std::mt19937& random, bool uninspected, bool outside, bool again) {
  std::uniform_real_distribution<double> unit;
  FiniteProblem out;
  out.uninspected = uninspected;
  if (outside) out.outside = unit(random);
  for (int box = 0; box < 3; ++box) {
    FiniteBox& of = out.boxes.emplace_back();
    of.cost = 0.3 * unit(random);
    double sum = 0.0;
    for (int k = 0; k < 3; ++k) {
      // Some values also occur in other boxes, so that there are ties.
      of.values.push_back(unit(random) < 0.3 ? 0.25 * k : unit(random));
      sum += of.probabilities.emplace_back(0.05 + unit(random));
    }
    for (double& p : of.probabilities) p /= sum;
    if (again && box < 2) of.openings = 2;
  }
  return out;
}

// The kinds of problems, with 200 random ones each.
class ExactProgramme : public testing::TestWithParam<std::tuple<bool, bool, bool>> {
 protected:
  void for_each(const std::function<void(const FiniteProblem&)>& check) {
    const auto [uninspected, outside, again] = GetParam();
    std::mt19937 random(7);
    for (int n = 0; n < 200; ++n) check(drawn(random, uninspected, outside, again));
  }
};

TEST_P(ExactProgramme, EqualsBruteForce) {
  for_each([](const FiniteProblem& problem) {
    std::vector<std::pair<std::size_t, double>> history;
    EXPECT_NEAR(solve_exactly(problem).value, brute_force(problem, history), 1e-12);
  });
}

// If no box may be deployed unopened, Weitzman's rule is optimal, even if boxes can be opened again.
TEST_P(ExactProgramme, BoundsWeitzmansRuleAndCommitments) {
  for_each([](const FiniteProblem& problem) {
    const double best = solve_exactly(problem).value, search = weitzman_value(problem);
    const Commitment committed = commit_or_search(problem);
    if (!problem.uninspected) {
      EXPECT_NEAR(search, best, 1e-12);
    }
    EXPECT_LE(committed.value, best + 1e-12);
    EXPECT_GE(committed.value, search - 1e-12);
    if (problem.boxes[0].openings == 1) {
      EXPECT_GE(committed.value, 0.8 * best - 1e-12);
    }
  });
}

// No price of a grid has a lower sum than the bound, and the best of them is close to it.
TEST_P(ExactProgramme, IsBelowTheRelaxation) {
  double slack = 0.0;
  for_each([&](const FiniteProblem& problem) {
    const double best = solve_exactly(problem).value, bound = relaxation_bound(problem);
    EXPECT_GE(bound, best - 1e-12);
    slack = std::max(slack, bound - best);
    double least = std::numeric_limits<double>::infinity();
    for (double price = -2.0; price <= 1.0; price += 0.05) {
      double sum = std::max(price, problem.outside.value_or(price));
      std::vector<std::pair<std::size_t, double>> none;
      for (const FiniteBox& box : problem.boxes) sum += brute_force({{box}, problem.uninspected, price}, none) - price;
      least = std::min(least, sum);
    }
    EXPECT_LE(bound, least + 1e-12);
    EXPECT_GE(bound, least - 0.1);
  });
  EXPECT_GT(slack, 0.01);  // it is no optimum
}

// With one box nothing is relaxed.
TEST(ExactProgrammeOfOneBox, IsTheRelaxation) {
  const FiniteProblem coin{{{0.1, {0.0, 1.0}, {0.5, 0.5}, 4}}, true, 0.3};
  EXPECT_NEAR(relaxation_bound(coin), solve_exactly(coin).value, 1e-12);
}

// The listed states are the policy. Their probabilities and values add up to the value of the programme.
TEST_P(ExactProgramme, TellsThePolicyThatHasTheValue) {
  for_each([](const FiniteProblem& problem) {
    const auto programme = solve_exactly(problem);
    double value = 0.0, ended = 0.0;
    for (const FiniteState& state : programme.states) {
      const double p = state.probability;
      if (state.action == FiniteAction::open) {
        value -= p * problem.boxes[static_cast<std::size_t>(state.box)].cost;
        continue;
      }
      ended += p;
      value += p * state.value;
    }
    EXPECT_NEAR(ended, 1.0, 1e-12);
    EXPECT_NEAR(value, programme.value, 1e-12);
  });
}

INSTANTIATE_TEST_SUITE_P(Actions, ExactProgramme, testing::Combine(testing::Bool(), testing::Bool(), testing::Bool()));

// One box has the value 1 or 0 with probability 1/2 each. Opened it brings 0.5 - c, and unopened 0.5.
TEST(ExactProgrammeByHand, OneBox) {
  FiniteProblem problem{{{0.1, {0.0, 1.0}, {0.5, 0.5}, 1}}, false, {}};
  EXPECT_DOUBLE_EQ(solve_exactly(problem).value, 0.4);
  problem.outside = 0.45;  // the box is still opened: 0.5 * 1 + 0.5 * 0.45 - 0.1
  EXPECT_DOUBLE_EQ(solve_exactly(problem).value, 0.625);
  problem.outside = 0.81;
  const auto nothing = solve_exactly(problem);
  EXPECT_DOUBLE_EQ(nothing.value, 0.81);
  EXPECT_EQ(nothing.states[0].action, FiniteAction::outside);
  problem = {problem.boxes, true, {}};
  const auto unopened = solve_exactly(problem);
  EXPECT_DOUBLE_EQ(unopened.value, 0.5);
  EXPECT_EQ(unopened.states[0].action, FiniteAction::uninspected);
  EXPECT_EQ(unopened.states[0].box, 0);
}

TEST(ExactProgrammeByHand, CountsItsStates) {
  const FiniteBox box{0.1, {0.0, 1.0}, {0.5, 0.5}, 3};
  EXPECT_EQ(count_states({{box, box}, false, {}}), 3 * 4 * 4);
}

}  // namespace
}  // namespace pandora
