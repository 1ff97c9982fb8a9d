#include "kernels/tape/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/tape/formulas.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/small_instance.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

constexpr Dimensions kSmall{5, 13, 7, 3, IndexFeatures::affine};
constexpr int kCalibration = 6, kPeriods = 40;

double G(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

// mu* of z = theta_*' phi
double mu_of(const Instance& instance, double z) {
  return instance.environment.reward_link == RewardLink::linear ? std::clamp(0.5 + z / 10.0, 0.0, 1.0) : G(z);
}

// row `i` of a row-major matrix times v
template <class Vector>
double row_times(const std::vector<double>& matrix, int i, const Vector& v) {
  double sum = 0.0;
  for (std::size_t j = 0; j < v.size(); ++j) sum += matrix[static_cast<std::size_t>(i) * v.size() + j] * v[j];
  return sum;
}

// One row as the paper defines it, in double, with full vectors.
struct NaiveRow {
  std::vector<float> x;
  std::vector<double> shift;                                 // for each box: theta_*' Q x
  std::vector<double> scale, context_cost, index, mu, cost;  // for each box
  std::vector<std::vector<double>> phi;                      // for each box
};

NaiveRow naive_row(const Instance& instance, Purpose context, Purpose shock, std::uint32_t period,
                   std::uint32_t opening = 0) {
  const Dimensions& dim = instance.dimensions;
  NaiveRow row;
  row.x = naive::context(instance.stream(context), period, dim.context);
  for (int a = 0; a < dim.boxes; ++a) {
    const int first = instance.environment.location == Location::own ? a * dim.reward_features : 0;  // of Q_a
    row.shift.push_back(0.0);
    for (int k = 0; k < dim.reward_features; ++k)
      row.shift.back() += instance.theta[k] * row_times(instance.Q, first + k, row.x);
    const std::vector<float> xi = naive::shock(instance.environment, dim.output, instance.stream(shock), period,
                                               static_cast<std::uint32_t>(a) + 16 * opening)
                                      .xi;
    row.scale.push_back(0.5 + G(row_times(instance.alpha, a, row.x)));
    std::vector<double> omega, magnitude;
    for (float value : xi) {
      omega.push_back(row.scale.back() * value);
      magnitude.push_back(std::abs(omega.back()));
    }
    double z = 0.0;
    row.phi.emplace_back();
    for (int k = 0; k < dim.reward_features; ++k) {
      row.phi.back().push_back(row_times(instance.Q, first + k, row.x) + row_times(instance.D, k, omega));
      z += instance.theta[k] * row.phi.back().back();
    }
    row.mu.push_back(mu_of(instance, z));
    row.context_cost.push_back(instance.c0[a] * G(row_times(instance.beta0, a, row.x)));
    if (instance.linear_indices()) {
      const std::size_t m = static_cast<std::size_t>(dim.index_size());
      double linear = instance.rho[a * m], excess = 0.0;
      for (int j = 0; j < dim.context; ++j) linear += instance.rho[a * m + 1 + j] * row.x[j];
      row.index.push_back(std::tanh(linear));
      for (const double w : instance.shock_quantiles)
        excess += std::max(0.0, G(row.shift.back() + row.scale.back() * w) - row.index.back());
      row.context_cost.back() = excess / static_cast<double>(instance.shock_quantiles.size());
    }
    row.cost.push_back(row.context_cost.back() + instance.c1[a] * G(row_times(instance.beta1, a, magnitude)));
  }
  return row;
}

// Computes the row `row` of a tape naively.
NaiveRow naive_row(const Instance& instance, int row) {
  if (row == 0) return naive_row(instance, Purpose::initial_context, Purpose::initial_shock, 0);
  const std::uint32_t period = static_cast<std::uint32_t>(row - 1);
  if (row <= kCalibration) return naive_row(instance, Purpose::calibration_context, Purpose::calibration_shock, period);
  return naive_row(instance, Purpose::online_context, Purpose::online_shock, period - kCalibration);
}

enum class World { paper, no_location, own_locations, linear_indices, own_and_linear, centred_costs, linear_rewards };

class TapeCell : public testing::TestWithParam<std::tuple<Law, Regime, World>> {
 protected:
  static Instance made() {
    const auto [law, regime, world] = GetParam();
    Instance instance = naive::small_instance(kSmall, law, regime);
    if (world == World::no_location) instance = naive::with_location(instance, Location::none);
    if (world == World::own_locations || world == World::own_and_linear)
      instance = naive::with_location(instance, Location::own);
    if (world == World::linear_indices || world == World::own_and_linear)
      instance = naive::with_linear_indices(instance);
    if (world == World::centred_costs) instance = naive::with_centred_costs(instance);
    if (world == World::linear_rewards) instance = naive::with_linear_rewards(instance);
    return instance;
  }
  Instance instance_ = made();
  Tape tape_ = draw_tape(instance_, kCalibration, kPeriods);
};
INSTANTIATE_TEST_SUITE_P(Tape, TapeCell,
                         testing::Combine(testing::Values(Law::uniform, Law::gaussian, Law::student_t5),
                                          testing::Values(Regime::A, Regime::B),
                                          testing::Values(World::paper, World::no_location, World::own_locations,
                                                          World::linear_indices, World::own_and_linear,
                                                          World::centred_costs, World::linear_rewards)));

TEST_P(TapeCell, EqualsThePaperInDouble) {
  constexpr double kTolerance = 5e-6;  // sums of 13 and 7 floats of size up to 10
  ASSERT_EQ(tape_.contexts.rows, 1 + kCalibration + kPeriods);
  for (int row = 0; row < tape_.contexts.rows; ++row) {
    const NaiveRow naive = naive_row(instance_, row);
    EXPECT_EQ(tape_.contexts.psi_row(row)[0], 1.0f);
    for (int j = 0; j < kSmall.context; ++j) ASSERT_EQ(tape_.contexts.psi_row(row)[1 + j], naive.x[j]);
    for (int a = 0; a < kSmall.boxes; ++a) {
      const std::size_t at = tape_.at(row, a);
      EXPECT_NEAR(tape_.contexts.reward_shift[tape_.contexts.location_at(row, a)], naive.shift[a], kTolerance);
      if (instance_.linear_indices()) {
        ASSERT_NEAR(tape_.contexts.index[at], naive.index[a], kTolerance);
      }
      for (int k = 0; k < kSmall.reward_features; ++k)
        ASSERT_NEAR(tape_.phi_of(row, a)[k], naive.phi[a][k], kTolerance) << row << " " << a << " " << k;
      ASSERT_NEAR(tape_.contexts.scale[at], naive.scale[a], kTolerance);
      ASSERT_NEAR(tape_.contexts.context_cost[at], naive.context_cost[a], kTolerance);
      ASSERT_NEAR(tape_.mu[at], naive.mu[a], kTolerance);
      ASSERT_NEAR(tape_.cost[at], naive.cost[a], kTolerance);
    }
  }
}

// First come the rows of a tape of one opening, then rows with the same contexts and fresh outputs.
TEST_P(TapeCell, OfMoreOpeningsHasThePeriodsWithFreshOutputs) {
  const Tape again = draw_tape(instance_, kCalibration, kPeriods, nullptr, 3);
  EXPECT_TRUE(std::equal(tape_.reward.begin(), tape_.reward.end(), again.reward.begin()));
  ASSERT_EQ(again.contexts.rows, 1 + kCalibration + 3 * kPeriods);
  for (std::uint32_t k = kPeriods; k < 3 * kPeriods; ++k) {
    const int row = again.online_row(static_cast<int>(k));
    const auto naive = naive_row(instance_, Purpose::online_context, Purpose::online_shock, k % kPeriods, k / kPeriods);
    for (int j = 0; j < kSmall.context; ++j) ASSERT_EQ(again.contexts.psi_row(row)[1 + j], naive.x[j]);
    for (int a = 0; a < kSmall.boxes; ++a) {
      ASSERT_NEAR(again.mu[again.at(row, a)], naive.mu[a], 5e-6);
      ASSERT_NEAR(again.cost[again.at(row, a)], naive.cost[a], 5e-6);
    }
  }
}

// mu is computed in double from the stored phi. So a policy that knows theta_* finds the same number.
TEST_P(TapeCell, MuIsTheLinkOfTheStoredFeatures) {
  for (int row = 0; row < tape_.contexts.rows; ++row)
    for (int a = 0; a < kSmall.boxes; ++a) {
      double z = 0.0;
      for (int k = 0; k < kSmall.reward_features; ++k)
        z += instance_.theta[k] * static_cast<double>(tape_.phi_of(row, a)[k]);
      ASSERT_NEAR(tape_.mu[tape_.at(row, a)], mu_of(instance_, z), 1e-15);
    }
}

TEST_P(TapeCell, RewardsAreOneUniformPerPeriodAndBox) {
  for (int row = 0; row < tape_.contexts.rows; ++row)
    for (int a = 0; a < kSmall.boxes; ++a) {
      bool expected = false;  // no reward at x_0
      if (row > 0) {
        const bool calibration = row <= kCalibration;
        const std::uint32_t period = static_cast<std::uint32_t>(calibration ? row - 1 : row - 1 - kCalibration);
        const Stream stream = instance_.stream(calibration ? Purpose::calibration_reward : Purpose::online_reward);
        const std::uint32_t word = naive::block(stream, 0, period, static_cast<std::uint32_t>(a))[0];
        expected = (word + 0.5) / 4294967296.0 < tape_.mu[tape_.at(row, a)];
      }
      ASSERT_EQ(tape_.reward[tape_.at(row, a)], expected ? 1 : 0) << row << " " << a;
    }
}

void expect_equal_rows(const Tape& first, int row_first, const Tape& second, int row_second) {
  const Contexts &a = first.contexts, &b = second.contexts;
  for (int j = 0; j < a.index_stride; ++j) ASSERT_EQ(a.psi_row(row_first)[j], b.psi_row(row_second)[j]);
  const int features = a.locations * a.reward_features;
  for (int k = 0; k < features; ++k)
    ASSERT_EQ(a.reward_context[row_first * features + k], b.reward_context[row_second * features + k]);
  for (int l = 0; l < a.locations; ++l)
    ASSERT_EQ(a.reward_shift[row_first * a.locations + l], b.reward_shift[row_second * a.locations + l]);
  for (int box = 0; box < a.boxes; ++box) {
    const std::size_t i = first.at(row_first, box), j = second.at(row_second, box);
    ASSERT_EQ(a.scale[i], b.scale[j]);
    ASSERT_EQ(a.context_cost[i], b.context_cost[j]);
    ASSERT_EQ(first.mu[i], second.mu[j]);
    ASSERT_EQ(first.cost[i], second.cost[j]);
    ASSERT_EQ(first.reward[i], second.reward[j]);
    for (int k = 0; k < a.reward_features; ++k)
      ASSERT_EQ(first.phi_of(row_first, box)[k], second.phi_of(row_second, box)[k]);
  }
}

// The first 50 calibration periods with T_0 = 1000 are those with T_0 = 50, and online periods do not depend on T_0.
TEST_P(TapeCell, RowsDoNotDependOnTheNumbersOfPeriods) {
  for (const auto& [calibration, periods] : {std::pair{0, kPeriods}, {kCalibration, 1}, {23, 77}}) {
    const Tape other = draw_tape(instance_, calibration, periods);
    expect_equal_rows(tape_, 0, other, 0);
    for (int t = 0; t < std::min(calibration, kCalibration); ++t)
      expect_equal_rows(tape_, tape_.calibration_row(t), other, other.calibration_row(t));
    for (int t = 0; t < std::min(periods, kPeriods); ++t)
      expect_equal_rows(tape_, tape_.online_row(t), other, other.online_row(t));
  }
}

TEST(Tape, ConstantsOfRegimeA) {
  const Instance instance = naive::small_instance(kSmall, Law::uniform, Regime::A);
  const Tape tape = draw_tape(instance, 2, 10);
  for (int row = 0; row < tape.contexts.rows; ++row) {
    EXPECT_EQ(tape.contexts.reward_shift[row], 0.0);
    for (int a = 0; a < kSmall.boxes; ++a) {
      EXPECT_EQ(tape.contexts.scale[tape.at(row, a)], 1.0);
      EXPECT_DOUBLE_EQ(tape.cost[tape.at(row, a)], (instance.c0[a] + instance.c1[a]) / 2.0);
    }
  }
}

TEST(Tape, BoxesAndPeriodsHaveTheirOwnOutputs) {
  const Tape tape = draw_tape(naive::small_instance(kSmall, Law::gaussian, Regime::A), kCalibration, kPeriods);
  std::vector<double> values(tape.mu);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
}

TEST(Tape, PaddingOfIndexFeaturesIsZero) {
  for (IndexFeatures features : {IndexFeatures::affine, IndexFeatures::affine_and_squares}) {
    Dimensions dim = kSmall;
    dim.index_features = features;
    const Tape tape = draw_tape(naive::small_instance(dim, Law::uniform, Regime::B), 1, 20);
    EXPECT_EQ(tape.contexts.index_stride % 8, 0);
    EXPECT_GE(tape.contexts.index_stride, tape.contexts.index_size);
    EXPECT_LT(tape.contexts.index_stride, tape.contexts.index_size + 8);
    for (int row = 0; row < tape.contexts.rows; ++row)
      for (int j = tape.contexts.index_size; j < tape.contexts.index_stride; ++j)
        ASSERT_EQ(tape.contexts.psi_row(row)[j], 0.0f);
  }
}

TEST(Tape, SquaresAreAppendedAndChangeNothingElse) {
  Dimensions dim = kSmall;
  const Tape affine = draw_tape(naive::small_instance(dim, Law::gaussian, Regime::B), 1, 20);
  dim.index_features = IndexFeatures::affine_and_squares;
  const Tape squares = draw_tape(naive::small_instance(dim, Law::gaussian, Regime::B), 1, 20);
  EXPECT_EQ(affine.contexts.index_size, 1 + dim.context);
  EXPECT_EQ(squares.contexts.index_size, 1 + 2 * dim.context);
  for (int row = 0; row < squares.contexts.rows; ++row) {
    const float* psi = squares.contexts.psi_row(row);
    for (int j = 0; j <= dim.context; ++j) ASSERT_EQ(psi[j], affine.contexts.psi_row(row)[j]);
    for (int j = 1; j <= dim.context; ++j) ASSERT_EQ(psi[dim.context + j], psi[j] * psi[j]);
  }
  EXPECT_EQ(squares.mu, affine.mu);
  EXPECT_EQ(squares.cost, affine.cost);
  EXPECT_EQ(squares.reward, affine.reward);
}

// Contexts of more than 64 coordinates take more than one batch of blocks.
TEST(Tape, LongContextsAreFilledToTheEnd) {
  Dimensions dim = kSmall;
  for (int context : {1, 63, 64, 65, 127, 200}) {
    dim.context = context;
    const Instance instance = naive::small_instance(dim, Law::uniform, Regime::B);
    const Tape tape = draw_tape(instance, 0, 2);
    const std::vector<float> x = naive::context(instance.stream(Purpose::online_context), 1, context);
    for (int j = 0; j < context; ++j) ASSERT_EQ(tape.contexts.psi_row(tape.online_row(1))[1 + j], x[j]) << context;
  }
}

// Only mu* depends on the link, and what is computed from mu*.
TEST(Tape, AnotherLinkChangesRewardsAlone) {
  Instance instance = naive::small_instance({3, 6, 8, 4}, Law::uniform, Regime::B);
  const Tape paper = draw_tape(instance, 5, 200);
  instance.environment.reward_link = RewardLink::algebraic;
  const Tape tape = draw_tape(instance, 5, 200);
  EXPECT_EQ(tape.phi, paper.phi);
  EXPECT_EQ(tape.cost, paper.cost);
  bool below = false, above = false;
  for (int row = 0; row < tape.contexts.rows; ++row)
    for (int a = 0; a < 3; ++a) {
      double z = 0.0;
      for (int k = 0; k < 4; ++k) z += instance.theta[k] * static_cast<double>(tape.phi_of(row, a)[k]);
      const double mu = z >= 0.0 ? 1.0 - 1.0 / (2.0 + z) : 1.0 / (2.0 - z);
      EXPECT_NEAR(tape.mu[tape.at(row, a)], mu, 1e-12);
      below = below || z < 0.0;
      above = above || z > 0.0;
    }
  EXPECT_TRUE(below && above);
  EXPECT_NEAR(reward_link(RewardLink::algebraic, 1e-6) - 0.5, logistic(1e-6) - 0.5, 1e-12);  // the same slope at 0
}

// Every cost is multiplied by a factor of its own. phi, mu and rewards stay the same.
TEST(Tape, CostsWithATailAreThePapersTimesAParetoVariable) {
  Instance instance = naive::small_instance({3, 6, 8, 4}, Law::uniform, Regime::B);
  const Tape paper = draw_tape(instance, 7, 20000);
  instance.environment.cost_tail = 3.0;
  const Tape tape = draw_tape(instance, 7, 20000);
  EXPECT_EQ(tape.phi, paper.phi);
  EXPECT_EQ(tape.mu, paper.mu);
  EXPECT_EQ(tape.reward, paper.reward);
  std::vector<double> factor;
  double sum = 0.0, beyond = 0.0;
  for (std::size_t at = 0; at < tape.cost.size(); ++at) {
    factor.push_back(tape.cost[at] / paper.cost[at]);
    EXPECT_GT(factor.back(), 2.0 / 3.0 - 1e-6);  // the least factor, 1 - 1/alpha, belongs to U = 1
    sum += factor.back();
    beyond += factor.back() > 4.0 / 3.0 ? 1.0 : 0.0;  // twice the least factor is exceeded with probability 2^-3
  }
  const double n = static_cast<double>(factor.size());
  EXPECT_NEAR(sum / n, 1.0, 4 * std::sqrt(1.0 / 3.0 / n));  // the variance of Pareto(3) with mean 1 is 1/3
  EXPECT_NEAR(beyond / n, 0.125, 4 * std::sqrt(0.125 * 0.875 / n));
  for (int a = 0; a < 3; ++a) {  // x_0, the first calibration and the first online period have different draws
    const double first[] = {factor[tape.at(0, a)], factor[tape.at(1, a)], factor[tape.at(8, a)]};
    EXPECT_NE(first[0], first[1]);
    EXPECT_NE(first[1], first[2]);
    EXPECT_NE(first[0], first[2]);
  }
  EXPECT_EQ(draw_tape(instance, 3, 100).cost[4], tape.cost[4]);  // the numbers of periods do not matter
}

TEST(Tape, RewardFrequenciesMatchMu) {
  const Tape tape = draw_tape(naive::small_instance(kSmall, Law::gaussian, Regime::B), 2000, 20000);
  // The Bernoulli probability is mu itself: for all rewards, and for those with small, middling and large mu.
  for (const auto& [least, greatest] : {std::pair{0.0, 1.0}, {0.0, 0.3}, {0.3, 0.7}, {0.7, 1.0}})
    for (const bool online : {false, true}) {
      double excess = 0.0, variance = 0.0;
      const int first = online ? tape.online_row(0) : tape.calibration_row(0);
      const int last = online ? tape.contexts.rows : tape.online_row(0);
      for (int row = first; row < last; ++row)
        for (int a = 0; a < kSmall.boxes; ++a) {
          const double mu = tape.mu[tape.at(row, a)];
          if (mu < least || mu > greatest) continue;
          excess += tape.reward[tape.at(row, a)] - mu;
          variance += mu * (1.0 - mu);
        }
      EXPECT_GT(variance, 100.0);
      EXPECT_LT(std::abs(excess) / std::sqrt(variance), statistics::kAlarm) << least << " " << online;
    }
}

}  // namespace
}  // namespace pandora
