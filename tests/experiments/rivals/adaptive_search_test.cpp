// The dynamic programme of the adaptive oracle, as a function from numbers to numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "experiments/rivals/normal_search.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using rivals::AdaptiveSearch;
using rivals::NormalSearch;
using rivals::SearchBox;
using rivals::ShockGrid;

double mu_of(const SearchBox& box, double w) {
  return reward_link(RewardLink::logistic, box.shift + box.scale * w);
}

std::vector<SearchBox> random_boxes(test::Random& random, int count) {
  std::vector<SearchBox> boxes;
  const double shift = random.uniform(-0.5, 0.5);
  for (int a = 0; a < count; ++a)
    boxes.push_back({shift + random.uniform(-0.1, 0.1), random.uniform(0.5, 2.5), random.uniform(0.005, 0.2)});
  return boxes;
}

// P(w_1 = node i, w_2 = node j, w_3 = node k).
double joint(const ShockGrid& grid, std::size_t i, std::size_t j, std::size_t k) {
  const std::size_t n = grid.size();
  return grid.first[i] * grid.second[i * n + j] * grid.third[static_cast<std::size_t>(grid.row[i * n + j]) * n + k];
}

// A random exchangeable law of three shocks, each on three points.
ShockGrid random_three_points(test::Random& random) {
  double p[3][3][3], total = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j)
      for (int k = j; k < 3; ++k) {
        const double mass = random.uniform(0.0, 1.0) * random.uniform(0.0, 1.0) + 1e-3;
        p[i][j][k] = p[i][k][j] = p[j][i][k] = p[j][k][i] = p[k][i][j] = p[k][j][i] = mass;
      }
  for (const auto& plane : p)
    for (const auto& row : plane) total = std::accumulate(row, row + 3, total);
  ShockGrid grid{{-1.3, 0.2, 0.9}, {}, {}, {}, {}};
  for (int i = 0; i < 3; ++i) {
    const double plane = std::accumulate(&p[i][0][0], &p[i][0][0] + 9, 0.0);
    grid.first.push_back(plane / total);
    for (int j = 0; j < 3; ++j) {
      const double row = p[i][j][0] + p[i][j][1] + p[i][j][2];
      grid.second.push_back(row / plane);
      for (int k = 0; k < 3; ++k) grid.third.push_back(p[i][j][k] / row);
      grid.row.push_back(3 * i + j);
    }
  }
  return grid;
}

// What a decision tree does after the first box has shown a node. Either it stops, or it opens `second`. If this box
// shows node j, it opens the third box too if bit j of `both` is set.
struct Branch {
  int second = -1;
  int both = 0;
};
std::vector<Branch> branches_after(int first) {
  std::vector<Branch> all{{}};
  for (int second = 0; second < 3; ++second)
    for (int both = 0; second != first && both < 8; ++both) all.push_back({second, both});
  return all;
}

// The part of a tree's expected utility in which the first box shows node i. The cost of the first box is left out.
double utility_of(const ShockGrid& grid, const std::vector<SearchBox>& boxes, int first, std::size_t i, Branch branch) {
  double sum = 0.0;
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t k = 0; k < 3; ++k) {
      double utility = mu_of(boxes[first], grid.nodes[i]);
      if (branch.second >= 0) {
        const int third = 3 - first - branch.second;
        utility = std::max(utility, mu_of(boxes[branch.second], grid.nodes[j]));
        if (branch.both >> j & 1) utility = std::max(utility, mu_of(boxes[third], grid.nodes[k])) - boxes[third].cost;
        utility -= boxes[branch.second].cost;
      }
      sum += joint(grid, i, j, k) * utility;
    }
  return sum;
}

// Compares the search with all 3 x 17^3 decision trees, each with its exact expected utility.
TEST(AdaptiveSearch, IsTheBestOfAllDecisionTreesOnThreePoints) {
  test::Random random(11);
  for (int problem = 0; problem < 40; ++problem) {
    const ShockGrid grid = random_three_points(random);
    const std::vector<SearchBox> boxes = random_boxes(random, 3);
    AdaptiveSearch search(grid, RewardLink::logistic);
    search.solve(boxes);
    for (int first = 0; first < 3; ++first) {
      const std::vector<Branch> branches = branches_after(first);
      ASSERT_EQ(branches.size(), 17u);
      std::vector<double> part[3];
      for (std::size_t i = 0; i < 3; ++i)
        for (const Branch branch : branches) part[i].push_back(utility_of(grid, boxes, first, i, branch));
      double best = -10.0;
      for (const double zero : part[0])
        for (const double one : part[1])
          for (const double two : part[2]) best = std::max(best, zero + one + two - boxes[first].cost);
      EXPECT_NEAR(search.starts()[first], best, 1e-12) << problem;
    }
    EXPECT_EQ(search.value(), *std::max_element(search.starts().begin(), search.starts().end()));
  }
}

// The expected utility of opening boxes in this order until `stops` says so. It takes the best mu and the number of
// open boxes.
double utility_of_order(const ShockGrid& grid, const std::vector<SearchBox>& boxes, const std::vector<int>& order,
                        const std::function<bool(double, int)>& stops) {
  const std::size_t n = grid.size();
  double sum = 0.0;
  for (std::size_t cell = 0; cell < n * n * n; ++cell) {
    const std::size_t node[3] = {cell / (n * n), cell / n % n, cell % n};
    double best = 0.0, paid = 0.0;
    for (int k = 0; k < 3; ++k) {
      const SearchBox& box = boxes[order[k]];
      best = std::max(best, mu_of(box, grid.nodes[node[k]]));
      paid += box.cost;
      if (stops(best, k + 1)) break;
    }
    sum += joint(grid, node[0], node[1], node[2]) * (best - paid);
  }
  return sum;
}

// sigma of (eq:sigma) for the law of the first shock on the grid.
double index_on(const ShockGrid& grid, const SearchBox& box) {
  return test::bisect(
      [&](double sigma) {
        double excess = 0.0;
        for (std::size_t i = 0; i < grid.size(); ++i)
          excess += grid.first[i] * std::max(0.0, mu_of(box, grid.nodes[i]) - sigma);
        return box.cost - excess;
      },
      -1.0, 1.0);
}

double weitzman_on(const ShockGrid& grid, const std::vector<SearchBox>& boxes) {
  std::vector<double> sigma;
  for (const SearchBox& box : boxes) sigma.push_back(index_on(grid, box));
  std::vector<int> order{0, 1, 2};
  std::sort(order.begin(), order.end(), [&](int a, int b) { return sigma[a] > sigma[b]; });
  return utility_of_order(grid, boxes, order,
                          [&](double best, int open) { return open == 3 || best >= sigma[order[open]]; });
}

// Some costs are so high that indices are negative.
TEST(AdaptiveSearch, IsWeitzmansRuleWhereShocksAreIndependent) {
  test::Random random(12);
  const ShockGrid grid = rivals::normal_grid(0.0, 0.5);
  AdaptiveSearch search(grid, RewardLink::logistic);
  for (int problem = 0; problem < 60; ++problem) {
    std::vector<SearchBox> boxes = random_boxes(random, 3);
    for (SearchBox& box : boxes) box.cost *= problem % 3 == 0 ? 4.0 : 1.0;
    search.solve(boxes);
    EXPECT_NEAR(search.value(), weitzman_on(grid, boxes), 1e-12) << problem;
  }
}

TEST(AdaptiveSearch, IsNeverBelowWeitzmansRuleAndFixedOrdersWithThresholds) {
  test::Random random(13);
  double most = 0.0;
  for (const double r : {0.1, 0.5, 0.9}) {
    const ShockGrid grid = rivals::normal_grid(r, 0.75);
    AdaptiveSearch search(grid, RewardLink::logistic);
    for (int problem = 0; problem < 20; ++problem) {
      const std::vector<SearchBox> boxes = random_boxes(random, 3);
      search.solve(boxes);
      const double weitzman = weitzman_on(grid, boxes);
      EXPECT_GE(search.value(), weitzman - 1e-12);
      most = std::max(most, search.value() - weitzman);
      std::vector<int> order{0, 1, 2};
      do {
        const double thresholds[2] = {random.uniform(0.2, 0.9), random.uniform(0.2, 0.9)};
        const double fixed = utility_of_order(
            grid, boxes, order, [&](double best, int open) { return open == 3 || best >= thresholds[open - 1]; });
        EXPECT_GE(search.value(), fixed - 1e-12);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  EXPECT_GT(most, 0.01);  // so Weitzman's rule, which takes boxes for independent, does lose something
}

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// E[max_a min(mu_a, sigma_a)] (eq:max:utility) for normal shocks, as integrals of tails on a fine grid.
double weitzman_of_normals(const std::vector<SearchBox>& boxes) {
  constexpr int kSteps = 20000;
  const auto below = [](const SearchBox& box, double y) {  // P(mu <= y)
    return y <= 0.0 ? 0.0 : y >= 1.0 ? 1.0 : normal_cdf((std::log(y / (1.0 - y)) - box.shift) / box.scale);
  };
  std::vector<double> sigma;
  for (const SearchBox& box : boxes) {
    double excess = 0.0, y = 1.0;
    while (excess < box.cost) {
      y -= 1.0 / kSteps;
      excess += (1.0 - below(box, y + 0.5 / kSteps)) / kSteps;
    }
    sigma.push_back(y + (excess - box.cost) / (1.0 - below(box, y)));
  }
  double value = 1.0;
  for (int k = -kSteps; k < kSteps; ++k) {
    const double y = (k + 0.5) / kSteps;
    double product = 1.0;
    for (std::size_t a = 0; a < boxes.size(); ++a) product *= y >= sigma[a] ? 1.0 : below(boxes[a], y);
    value -= product / kSteps;
  }
  return value;
}

// The error of the quadrature is below 1e-4 with the usual step, and below half of that with half the step.
TEST(AdaptiveSearch, IsWeitzmansValueForIndependentNormalsUpToItsQuadrature) {
  test::Random random(14);
  double error[2] = {};
  AdaptiveSearch usual(rivals::normal_grid(0.0), RewardLink::logistic);
  AdaptiveSearch fine(rivals::normal_grid(0.0, 0.5 * rivals::kShockStep), RewardLink::logistic);
  for (int problem = 0; problem < 100; ++problem) {
    const std::vector<SearchBox> boxes = random_boxes(random, 1 + problem % 3);
    usual.solve(boxes);
    fine.solve(boxes);
    const double value = weitzman_of_normals(boxes);
    error[0] = std::max(error[0], std::abs(usual.value() - value));
    error[1] = std::max(error[1], std::abs(fine.value() - value));
  }
  EXPECT_LT(error[0], 1e-4);
  EXPECT_LT(error[1], 5e-5);
}

// Halving the step changes the value by less than 1e-4 for each correlation.
TEST(AdaptiveSearch, HardlyDependsOnItsStep) {
  test::Random random(15);
  for (const double r : {0.3, 0.9, 0.99}) {
    AdaptiveSearch usual(rivals::normal_grid(r), RewardLink::logistic);
    AdaptiveSearch fine(rivals::normal_grid(r, 0.5 * rivals::kShockStep), RewardLink::logistic);
    for (int problem = 0; problem < 10; ++problem) {
      const std::vector<SearchBox> boxes = random_boxes(random, 3);
      usual.solve(boxes);
      fine.solve(boxes);
      EXPECT_NEAR(usual.value(), fine.value(), 1e-4) << r;
    }
  }
}

// If boxes are nearly equal, a second one teaches nothing and is not opened.
TEST(AdaptiveSearch, OpensOneOfBoxesThatAreAsGoodAsEqual) {
  for (const double r : {0.9999, 1.0 - 1e-12}) {
    AdaptiveSearch search(rivals::normal_grid(r), RewardLink::logistic);
    const std::vector<SearchBox> boxes(3, {0.2, 1.0, 0.05});
    search.solve(boxes);
    AdaptiveSearch one(rivals::normal_grid(0.0), RewardLink::logistic);
    one.solve(std::vector<SearchBox>(1, boxes[0]));
    EXPECT_NEAR(search.value(), one.value(), 1e-6) << r;
  }
}

// Shocks that do not lie on nodes: playing the search brings the value that it computed.
TEST(NormalSearch, BringsItsValueInSimulatedPlay) {
  constexpr int kPeriods = 100000;
  test::Random random(16);
  const auto normal = [&random] {
    const double radius = std::sqrt(-2.0 * std::log(random.uniform(1e-15, 1.0)));
    return radius * std::cos(2.0 * std::numbers::pi * random.uniform(0.0, 1.0));
  };
  for (const RewardLink link : {RewardLink::logistic, RewardLink::algebraic})
    for (const double r : {0.0, 0.4, 0.9}) {
      const std::vector<SearchBox> boxes = random_boxes(random, 3);
      NormalSearch search(r, link);
      double sum = 0.0, squares = 0.0;
      for (int t = 0; t < kPeriods; ++t) {
        const double common = std::sqrt(r) * normal();
        double z[3];
        for (int a = 0; a < 3; ++a) z[a] = boxes[a].shift + boxes[a].scale * (common + std::sqrt(1.0 - r) * normal());
        search.begin(boxes);
        double utility = 0.0;
        for (int box = search.next(); box != NormalSearch::kStop; box = search.next()) {
          utility -= boxes[box].cost;
          search.opened(box, z[box]);
        }
        utility += reward_link(link, z[search.best()]);
        sum += utility;
        squares += utility * utility;
      }
      const double mean = sum / kPeriods, error = std::sqrt((squares / kPeriods - mean * mean) / kPeriods);
      EXPECT_NEAR(mean, search.search().value(), 3.0 * error) << r;
      EXPECT_LT(error, 1e-3);
    }
}

}  // namespace
}  // namespace pandora
