// The promise of `compare --keep`, tested on many made-up tables with a fixed seed. At most one table in twenty has a
// wrong keep or drop, and clear cases are decided. Bounds are three standard errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "host/report/keep.hpp"

namespace pandora {
namespace {

constexpr double kMargin = 2.0;

using Draw = std::function<double(std::mt19937_64&)>;  // with mean 0

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

struct Odds {
  double wrong = 0, decided = 0;  // the share of tables with a wrong decision; of decided cells off the margin
  double bound = 0;
};

// A row with one hyperparameter on each side.
ComparedRow bare_row(const std::vector<double>& a, const std::vector<double>& b) {
  ComparedRow row;
  row.a = {1, a, 0.0, {}, {}};
  row.b = {1, b, 0.0, {}, {}};
  row.paired = paired_difference(a, b);
  return row;
}

// The expected differences of the cells, minus the margin, are `means`. The cells of a replication share this much of
// their luck.
Odds odds_of(const std::vector<double>& means, std::size_t n, int tables, const Draw& draw = normal,
             double shared = 0.5) {
  std::mt19937_64 random(1);
  Odds out;
  for (int table = 0; table < tables; ++table) {
    std::vector<double> common(n);
    for (double& x : common) x = draw(random);
    ComparedPair pair{"rule", "base", {}};
    for (const double mean : means) {
      std::vector<double> a(n), b(n);
      for (std::size_t r = 0; r < n; ++r) {
        b[r] = 10.0 + 3.0 * normal(random);
        a[r] = b[r] + kMargin + mean + std::sqrt(shared) * common[r] + std::sqrt(1.0 - shared) * draw(random);
      }
      pair.rows.push_back(bare_row(a, b));
    }
    const std::vector<Decision> found = decide({pair}, kMargin);
    bool wrong = false;
    for (std::size_t i = 0; i < means.size(); ++i) {
      wrong = wrong || (found[i].verdict == Verdict::keep && means[i] >= 0.0) ||
              (found[i].verdict == Verdict::drop && means[i] <= 0.0);
      out.decided += means[i] != 0.0 && found[i].verdict != Verdict::undecided ? 1.0 : 0.0;
    }
    out.wrong += wrong ? 1.0 : 0.0;
  }
  const auto apart = std::count_if(means.begin(), means.end(), [](double mean) { return mean != 0.0; });
  out.decided /= std::max(1.0, static_cast<double>(apart) * tables);
  out.wrong /= tables;
  out.bound = kMostWrong + 3.0 * std::sqrt(kMostWrong * (1.0 - kMostWrong) / tables);
  return out;
}

TEST(KeepPromise, HoldsAtTheMargin) {
  for (const std::size_t cells : {1u, 8u}) {
    const Odds odds = odds_of(std::vector<double>(cells, 0.0), 40, 1500);
    EXPECT_LE(odds.wrong, odds.bound) << cells;
    EXPECT_GT(odds.wrong, 0.02) << cells;  // so the level is not wasted
  }
}

// Some cells are decided at once, and then leave their level to the others.
TEST(KeepPromise, HoldsWhereSomeCellsAreClear) {
  const Odds odds = odds_of({-9.0, 9.0, -9.0, 0.0, 0.0, 0.0, 0.0}, 40, 1500);
  EXPECT_LE(odds.wrong, odds.bound);
  EXPECT_EQ(odds.decided, 1.0);
  const Odds near = odds_of({-0.05, 0.05, -0.05, 0.05}, 40, 1500);
  EXPECT_LE(near.wrong, near.bound);
}

TEST(KeepPromise, WhatIsFarIsDecided) {
  const Odds odds = odds_of({-2.0, 2.0, -1.0, 1.0, -0.8, 0.8}, 40, 300);
  EXPECT_LE(odds.wrong, odds.bound);
  EXPECT_GT(odds.decided, 0.97);
}

// Student's t alone would decide wrongly in a fifth of such tables.
TEST(KeepPromise, HoldsWhereTheRuleSometimesLosesMuch) {
  const auto skewed = [](std::mt19937_64& random) { return std::exponential_distribution<double>()(random) - 1.0; };
  const Odds odds = odds_of(std::vector<double>(24, 0.0), 50, 600, skewed, 0.0);
  EXPECT_LE(odds.wrong, odds.bound);
}

// Both sides choose among equally good hyperparameters. Neither is better, but the best of k would seem so.
TEST(KeepPromise, HoldsWhereHyperparametersAreChosen) {
  constexpr int kTables = 500, kReplications = 16;
  std::mt19937_64 random(2);
  int wrong = 0;
  for (int table = 0; table < kTables; ++table) {
    ComparedRow row;
    const auto side = [&](std::size_t choices) {
      std::vector<std::vector<double>> regrets(choices, std::vector<double>(kReplications));
      for (std::vector<double>& own : regrets)
        for (double& x : own) x = normal(random);
      const auto best = std::min_element(regrets.begin(), regrets.end(), [](const auto& x, const auto& y) {
        return estimate(x).mean < estimate(y).mean;
      });
      return ComparedSide{choices, *best, 0.0, {}, cross_fit(regrets)};
    };
    row.a = side(6);
    row.b = side(1);
    row.paired = paired_difference(row.a.best, row.b.best);
    wrong += decide({{"rule", "base", {row}}}, 0.0)[0].verdict != Verdict::undecided ? 1 : 0;
  }
  EXPECT_LE(wrong, kTables * (0.05 + 3.0 * std::sqrt(0.05 * 0.95 / kTables)));
}

}  // namespace
}  // namespace pandora
