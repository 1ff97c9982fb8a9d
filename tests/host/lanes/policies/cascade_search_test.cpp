// Compares FrugalGPT's search with a plain enumeration of all candidates.
#include "pandora/cascade_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Cascade = std::pair<std::vector<int>, std::vector<double>>;  // boxes and thresholds

Cascade both(const FrugalCascade& cascade) {
  return {cascade.boxes, cascade.thresholds};
}

// Calibration rows with independent mu, costs and rewards.
Tape random_tape(int boxes, int T0, std::uint64_t seed) {
  test::Random random(seed);
  Tape tape;
  tape.contexts.boxes = boxes;
  tape.contexts.rows = T0 + 1;
  tape.calibration_rows = T0;
  for (int i = 0; i < (T0 + 1) * boxes; ++i) {
    tape.mu.push_back(random.uniform(0.0, 1.0));
    tape.cost.push_back(random.uniform(0.0, 0.15));
    tape.reward.push_back(random.uniform(0.0, 1.0) < tape.mu.back() ? 1 : 0);
  }
  return tape;
}

// All candidates with at most `longest` boxes, in order of length, then of boxes, then of ascending thresholds. The
// digits of counters in base A and in base 11 run through the lists of boxes and the thresholds. Lists that name a box
// twice are skipped.
std::vector<FrugalCascade> all_cascades(int A, int longest) {
  const auto digits = [](int number, int base, int n) {
    std::vector<int> out(static_cast<std::size_t>(n));
    for (int i = n - 1; i >= 0; --i, number /= base) out[i] = number % base;
    return out;
  };
  std::vector<FrugalCascade> out;
  for (int length = 1; length <= longest; ++length)
    for (int list = 0; list < std::pow(A, length); ++list) {
      FrugalCascade cascade;
      cascade.boxes = digits(list, A, length);
      bool repeated = false;
      for (int i = 0; i < length; ++i)
        for (int j = 0; j < i; ++j) repeated = repeated || cascade.boxes[i] == cascade.boxes[j];
      if (repeated) continue;
      for (int tau = 0; tau < std::pow(11, length - 1); ++tau) {
        cascade.thresholds.clear();
        for (int digit : digits(tau, 11, length - 1)) cascade.thresholds.push_back(digit / 10.0);
        out.push_back(cascade);
      }
    }
  return out;
}

double mean_utility(const Tape& tape, int T0, const FrugalCascade& cascade) {
  double sum = 0.0;
  for (int period = 0; period < T0; ++period) {
    const int row = tape.calibration_row(period);
    double best_mu = -1.0, reward = 0.0;
    for (std::size_t j = 0; j < cascade.boxes.size(); ++j) {
      const std::size_t at = tape.at(row, cascade.boxes[j]);
      sum -= tape.cost[at];
      if (tape.mu[at] > best_mu) {
        best_mu = tape.mu[at];
        reward = tape.reward[at];
      }
      if (j < cascade.thresholds.size() && tape.mu[at] >= cascade.thresholds[j]) break;
    }
    sum += reward;
  }
  return sum / T0;
}

FrugalCascade enumerate(const Tape& tape, int T0, int longest) {
  FrugalCascade best;
  double most = -std::numeric_limits<double>::infinity();
  for (const FrugalCascade& cascade : all_cascades(tape.boxes(), longest))
    if (const double utility = mean_utility(tape, T0, cascade); utility > most + 1e-9) {
      most = utility;
      best = cascade;
    }
  return best;
}

TEST(CascadeSearch, CountsItsCandidates) {
  EXPECT_EQ(cascade_candidates(1, 1), 1u);
  EXPECT_EQ(cascade_candidates(2, 2), 2u + 2u * 11u);
  EXPECT_EQ(cascade_candidates(3, 3), 795u);
  for (int A = 1; A <= 4; ++A)
    for (int longest = 1; longest <= A; ++longest)
      EXPECT_EQ(cascade_candidates(A, longest), all_cascades(A, longest).size()) << A << ", " << longest;
  EXPECT_GT(cascade_candidates(16, 16), kMostCascades);
}

TEST(CascadeSearch, FindsWhatAnEnumerationFinds) {
  std::size_t longest = 0;
  for (int A = 1; A <= 4; ++A)
    for (const int T0 : {1, 5, 50})
      for (std::uint64_t seed = 0; seed < (A == 4 ? 2u : 10u); ++seed) {
        const Tape tape = random_tape(A, T0, 50 + 100 * seed + static_cast<std::uint64_t>(A));
        const FrugalCascade found = search_cascade(tape, T0);
        EXPECT_EQ(both(found), both(enumerate(tape, T0, A))) << "A = " << A << ", T0 = " << T0 << ", seed " << seed;
        longest = std::max(longest, found.boxes.size());
      }
  EXPECT_GE(longest, 2u);  // so there were cascades of several boxes
}

TEST(CascadeSearch, LooksAtTheFirstPeriodsOnly) {
  const Tape tape = random_tape(3, 60, 7);
  Tape changed = tape;
  for (int period = 20; period < 60; ++period)
    for (int a = 0; a < 3; ++a) {
      const std::size_t at = tape.at(tape.calibration_row(period), a);
      changed.mu[at] = 0.5;
      changed.reward[at] = 1 - changed.reward[at];
      changed.cost[at] = 0.4;
    }
  EXPECT_EQ(both(search_cascade(tape, 20)), both(search_cascade(changed, 20)));
}

TEST(CascadeSearch, OfTwoBoxesIsKnown) {
  struct Case {
    const char* of;
    std::vector<double> mu, cost;  // of the calibration rows
    std::vector<float> reward;
    Cascade best;
  };
  for (const Case& one :
       {Case{"By mu* box 1 alone would win, but its realised reward is 0, and that of box 0 is 1.",
             {0.2, 0.9},
             {0.1, 0.1},
             {1, 0},
             {{0}, {}}},
        Case{"Box 0 has mu = 0.35 and never pays, and box 1 always does. All thresholds from 0.4 to "
             "1 lead to box 1; 0.4 is the first.",
             {0.95, 0.3, 0.35, 0.6},
             {0.0, 0.3, 0.0, 0.1},
             {1, 0, 0, 1},
             {{0, 1}, {0.4}}},
        Case{"Utilities that differ by less than 1e-9 are ties.", {0.5, 0.5}, {0.1, 0.1 - 1e-10}, {1, 1}, {{0}, {}}},
        Case{"These differ by more.", {0.5, 0.5}, {0.1, 0.1 - 1e-8}, {1, 1}, {{1}, {}}}}) {
    const int T0 = static_cast<int>(one.mu.size()) / 2;
    Tape tape = random_tape(2, T0, 1);
    std::ranges::copy(one.mu, tape.mu.begin() + 2);
    std::ranges::copy(one.cost, tape.cost.begin() + 2);
    std::ranges::copy(one.reward, tape.reward.begin() + 2);
    EXPECT_EQ(both(search_cascade(tape, T0)), one.best) << one.of;
  }
}

// An earlier version returned no cascade here, and frugal_stop then took -1 as its number of thresholds.
TEST(CascadeSearch, WhereNoUtilityIsFiniteTheFirstBoxIsTheCascade) {
  Tape tape = random_tape(3, 5, 4);
  for (double& cost : tape.cost) cost = std::numeric_limits<double>::infinity();
  EXPECT_EQ(both(search_cascade(tape, 5)), (Cascade{{0}, {}}));
}

TEST(CascadeSearch, TiesGoToTheFirstCandidate) {
  Tape tape = random_tape(3, 4, 2);
  for (std::size_t i = 0; i < tape.mu.size(); ++i) {
    tape.mu[i] = 0.5;
    tape.cost[i] = 0.0;
    tape.reward[i] = 1;
  }
  EXPECT_EQ(both(search_cascade(tape, 4)), (Cascade{{0}, {}}));         // all 795 candidates are equally good
  for (int row = 1; row <= 4; ++row) tape.cost[tape.at(row, 0)] = 0.1;  // boxes 1 and 2 are equally good
  EXPECT_EQ(search_cascade(tape, 4).boxes, std::vector<int>{1});
}

// With five boxes all cascades are searched. With more boxes, as many as the budget allows.
TEST(CascadeSearch, SearchesShorterCascadesOfManyBoxes) {
  for (int A = 1; A <= kMaxBoxes; ++A) {
    EXPECT_EQ(longest_cascade(A), A <= 5 ? A : A == 6 ? 5 : A <= 11 ? 4 : 3) << A;
    EXPECT_LE(cascade_candidates(A, longest_cascade(A)), kMostCascades) << A;
  }
  std::size_t longest = 0;
  for (const int A : {12, 13, 14}) {
    const Tape tape = random_tape(A, 12, static_cast<std::uint64_t>(A));
    const FrugalCascade found = search_cascade(tape, 12);
    EXPECT_EQ(both(found), both(enumerate(tape, 12, 3))) << "A = " << A;
    longest = std::max(longest, found.boxes.size());
  }
  EXPECT_GE(longest, 2u);
}

double logistic_of(const Tape& tape, const std::vector<double>& theta, std::size_t at) {
  double z = 0.0;
  for (std::size_t i = 0; i < theta.size(); ++i) z += theta[i] * tape.phi[at * theta.size() + i];
  return 1.0 / (1.0 + std::exp(-z));
}

// If mu* is not seen, a response is accepted by its estimate from theta_hat. Here theta_hat comes from plain gradient
// descent on all calibration outputs and their rewards.
TEST(CascadeSearch, WithoutMuIsTheSearchOnEstimatesFromRewards) {
  constexpr int kT0 = 40;
  for (const std::uint64_t seed : {3, 4, 5}) {
    const Tape tape = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, kT0, 10, seed).tape;
    std::vector<double> theta(3, 0.0);
    double bound = 1.0;  // a bound on the Hessian
    for (const float feature : tape.phi) bound += 0.25 * feature * feature;
    for (int step = 0; step < 4000; ++step) {
      std::vector<double> gradient = theta;  // the term of the ridge 1
      for (int period = 0; period < kT0; ++period)
        for (int a = 0; a < 3; ++a) {
          const std::size_t at = tape.at(tape.calibration_row(period), a);
          const double error = logistic_of(tape, theta, at) - tape.reward[at];
          for (std::size_t i = 0; i < 3; ++i) gradient[i] += error * tape.phi[at * 3 + i];
        }
      for (std::size_t i = 0; i < 3; ++i) theta[i] -= gradient[i] / bound;
    }
    Tape estimated = tape, hidden = tape;
    for (int period = 0; period < kT0; ++period)
      for (int a = 0; a < 3; ++a) {
        const std::size_t at = tape.at(tape.calibration_row(period), a);
        estimated.mu[at] = logistic_of(tape, theta, at);
        hidden.mu[at] = 1.0 - tape.mu[at];
      }
    const Cascade found = both(search_cascade_on_rewards(tape, kT0, 1.0));
    EXPECT_EQ(found, both(search_cascade(estimated, kT0))) << seed;
    EXPECT_EQ(found, both(search_cascade_on_rewards(hidden, kT0, 1.0))) << seed;
  }
}

// Some values equal thresholds, and many candidates have the same utility.
TEST(CascadeSearch, FindsWhatAnEnumerationFindsAmongManyTies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Tape tape = random_tape(3, 30, seed);
    for (double& mu : tape.mu) mu = std::round(10.0 * mu) / 10.0;
    for (double& cost : tape.cost) cost = 0.05;
    EXPECT_EQ(both(search_cascade(tape, 30)), both(enumerate(tape, 30, 3))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pandora
