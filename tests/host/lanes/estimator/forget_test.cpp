// Forgetting: estimates are those from the remaining samples, with their weights.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "kernels/rules/index_loss.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class EstimatorThatForgets : public testing::Test {
 protected:
  static constexpr int kPeriods = 120;

  Request request(int period) const { return request_of(tape_, period, tape_.online_row(period - 1)); }
  // Box t % 3 is opened and deployed in period t.
  Output output(int t) const { return output_of(tape_, tape_.online_row(t - 1), t % 3); }
  double reward(int t) const { return tape_.reward[tape_.at(tape_.online_row(t - 1), t % 3)]; }
  VectorXd psi(int t) const { return vector_of(request(t).psi); }
  void learn(WeitzmanEstimator& estimator, int from, int to) const {
    for (int t = from; t <= to; ++t) {
      estimator.begin(request(t));
      const Output opened[] = {output(t)};
      estimator.learn(opened, t % 3, reward(t));
    }
  }
  template <class T>
  static VectorXd vector_of(std::span<const T> numbers) {
    return Eigen::Map<const Eigen::VectorX<T>>(numbers.data(), numbers.size()).template cast<double>();
  }
  static double apart(std::span<const double> a, std::span<const double> b) {
    return (vector_of(a) - vector_of(b)).norm();
  }
  // With a half-life of 16, weights fade by 2^(-1/4) at the end of every fourth period.
  static double weight(int t) { return std::exp2(-0.25 * (kPeriods / 4 - (t - 1) / 4)); }

  const Replication replication_ = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 3, kPeriods, 5);
  const Tape& tape_ = replication_.tape;
  const int m_ = tape_.contexts.index_size;
  const LaneSpec dow_ = test::dow_lane(RewardModel::known, 0, 0.3),
                 learning_dow_ = test::dow_lane(RewardModel::learned, 0, 0.3), linucb_ = test::linucb_lane(0, 0.3);
  const EstimationOptions exact_{parse_refit("every:1"), 0.4, 2.0};
};

TEST_F(EstimatorThatForgets, WeightsHalveWithinTheHalfLife) {
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  options.ridge_slopes = 1.5;
  VectorXd ridges = VectorXd::Constant(m_, 1.5);
  ridges[0] = 0.4;
  WeitzmanEstimator estimator(replication_, dow_, options);
  learn(estimator, 1, kPeriods);
  estimator.begin(request(1));
  for (int a = 0; a < 3; ++a) {
    MatrixXd design = ridges.asDiagonal();
    const VectorXd rho = vector_of(estimator.rho(a));
    VectorXd gradient = ridges.cwiseProduct(rho);
    double mass = 0.0;
    for (int t = 1; t <= kPeriods; ++t) {
      if (t % 3 != a || weight(t) < 1.0 / 1024) continue;
      design += weight(t) * psi(t) * psi(t).transpose();
      gradient += weight(t) * index_moment(psi(t).dot(rho), output(t).cost, output(t).mu).moment * psi(t);
      mass += weight(t);
    }
    EXPECT_LT(gradient.norm(), 1e-8) << a;
    EXPECT_NEAR(estimator.width(a), std::sqrt(psi(1).dot(design.llt().solve(psi(1)))), 1e-10);
    EXPECT_EQ(estimator.samples(a), static_cast<int>(std::lround(mass)));
  }
}

TEST_F(EstimatorThatForgets, ThetaIsThatOfTheWeightedSamples) {
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  WeitzmanEstimator estimator(replication_, learning_dow_, options);
  learn(estimator, 1, kPeriods);
  const VectorXd theta = vector_of(estimator.theta());
  VectorXd gradient = 2.0 * theta;
  MatrixXd design = 2.0 * MatrixXd::Identity(theta.size(), theta.size());
  for (int t = 1; t <= kPeriods; ++t) {
    if (weight(t) < 1.0 / 1024) continue;
    const VectorXd phi = vector_of(output(t).phi);
    gradient += weight(t) * (1.0 / (1.0 + std::exp(-theta.dot(phi))) - reward(t)) * phi;
    design += weight(t) * phi * phi.transpose();
  }
  EXPECT_LT(gradient.norm(), 1e-8);
  const VectorXd phi = vector_of(output(1).phi);
  EXPECT_NEAR(estimator.reward_width(output(1).phi), std::sqrt(phi.dot(design.llt().solve(phi))), 1e-10);
}

// Each box is opened in every third period. With at most 20 samples of a box, the 21st sample drops the first 11.
TEST_F(EstimatorThatForgets, OfTooManySamplesTheOlderHalfIsAsIfItHadNeverBeen) {
  for (LaneSpec rules : {dow_, learning_dow_})
    for (const Fit fit : {Fit::separate, Fit::shrunk}) {
      EstimationOptions options = exact_;
      options.most_samples = 20;
      rules.fit = fit;
      rules.shrinkage = Shrinkage::fixed;  // a learned ridge remembers
      WeitzmanEstimator estimator(replication_, rules, options);
      learn(estimator, 1, 63);
      int most = 0;
      for (int a = 0; a < 3; ++a) most = std::max(most, estimator.samples(a));
      EXPECT_LE(most, 20);
      EXPECT_GE(most, 10);
      if (fit == Fit::shrunk || rules.learns_reward()) continue;  // boxes drop samples at different periods
      WeitzmanEstimator latest(replication_, rules, exact_);
      learn(latest, 34, 63);
      for (int a = 0; a < 3; ++a) EXPECT_LT(apart(estimator.rho(a), latest.rho(a)), 1e-7) << a;
    }
}

// With a window of 20 periods, period 120 leaves the samples of the last 20 periods. Period 118 leaves those of the
// last 23, because samples are dropped only in every fifth period. A restart keeps what was learned before. LinUCB
// keeps samples for this.
TEST_F(EstimatorThatForgets, WhatAWindowOrARestartLeavesIsAsIfTheRestHadNeverBeen) {
  struct Left {
    Forgetting how;
    int until, first, last;
  };
  const Left cases[] = {{{.window = 20}, 120, 101, 120},
                        {{.window = 20}, 118, 96, 118},
                        {{.restart_at = 90, .lost = 31}, 90, 1, 59},
                        {{.restart_at = 90, .lost = 500}, 90, 1, 0}};
  for (const Left& left : cases)
    for (const LaneSpec& rules : {dow_, learning_dow_, linucb_}) {
      EstimationOptions options = exact_;
      options.forgetting = left.how;
      WeitzmanEstimator estimator(replication_, rules, options), other(replication_, rules, exact_);
      learn(estimator, 1, left.until);
      learn(other, left.first, left.last);
      estimator.begin(request(1));
      other.begin(request(1));
      EXPECT_NEAR(estimator.reward_width(output(1).phi), other.reward_width(output(1).phi), 1e-10);
      for (int a = 0; a < 3; ++a) {
        EXPECT_EQ(estimator.samples(a), other.samples(a));
        EXPECT_NEAR(estimator.width(a), other.width(a), 1e-10);
        EXPECT_LT(apart(estimator.rho(a), other.rho(a)), 1e-6) << a;
      }
      EXPECT_LT(apart(estimator.theta(), other.theta()), 1e-6);
    }
}

// For fading, LinUCB needs no stored samples. Its design and estimate are those of weighted least squares with its
// ridge.
TEST_F(EstimatorThatForgets, PayoffsFadeToo) {
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  options.ridge_payoff = 2.5;
  WeitzmanEstimator estimator(replication_, linucb_, options);
  learn(estimator, 1, kPeriods);
  MatrixXd design = 2.5 * MatrixXd::Identity(m_, m_);
  VectorXd sum = VectorXd::Zero(m_);
  for (int t = 3; t <= kPeriods; t += 3) {
    design += weight(t) * psi(t) * psi(t).transpose();
    sum += weight(t) * (reward(t) - output(t).cost) * psi(t);
  }
  const VectorXd wanted = design.llt().solve(sum);
  EXPECT_LT((vector_of(estimator.rho(0)) - wanted).norm(), 1e-10);
}

}  // namespace
}  // namespace pandora
