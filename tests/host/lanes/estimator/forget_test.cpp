// Forgetting: estimates are those from the remaining samples, with their weights.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "kernels/rules/index_loss.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

class EstimatorThatForgets : public testing::Test {
 protected:
  static constexpr int kPeriods = 120;

  Output output(int row, int a) const {
    const Tape& tape = replication_.tape;
    const std::size_t at = tape.at(row, a);
    return {
        a, {tape.phi_of(row, a), static_cast<std::size_t>(tape.contexts.reward_features)}, tape.cost[at], tape.mu[at]};
  }
  Request request(int period) const {
    const int row = replication_.tape.online_row(period - 1);
    return {period, {replication_.tape.contexts.psi_row(row), m_}, {}};
  }
  // Box t % 3 is opened and deployed in period t.
  void learn(WeitzmanEstimator& estimator, int from, int to) const {
    for (int t = from; t <= to; ++t) {
      estimator.begin(request(t));
      const int row = replication_.tape.online_row(t - 1), a = t % 3;
      const Output opened[] = {output(row, a)};
      estimator.learn(opened, a, replication_.tape.reward[replication_.tape.at(row, a)]);
    }
  }
  static LaneSpec dow(RewardModel reward) {
    LaneSpec rules;
    rules.score = Score::learned_index;
    rules.learning = Learning::online;
    rules.reward = reward;
    rules.c_rho = 0.3;
    rules.c_theta = 0.2;
    return rules;
  }

  const Replication replication_ = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 3, kPeriods, 5);
  const std::size_t m_ = static_cast<std::size_t>(replication_.tape.contexts.index_size);
  const EstimationOptions exact_{parse_refit("every:1"), 0.4, 2.0};
};

// With a half-life of 16, weights fade by 2^(-1/4) at the end of every fourth period.
TEST_F(EstimatorThatForgets, WeightsHalveWithinTheHalfLife) {
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  options.ridge_slopes = 1.5;
  Eigen::VectorXd ridges = Eigen::VectorXd::Constant(m_, 1.5);
  ridges[0] = 0.4;
  WeitzmanEstimator estimator(replication_, dow(RewardModel::known), options);
  learn(estimator, 1, kPeriods);
  estimator.begin(request(1));
  for (int a = 0; a < 3; ++a) {
    Eigen::MatrixXd design = ridges.asDiagonal();
    const Eigen::VectorXd rho = Eigen::Map<const Eigen::VectorXd>(estimator.rho(a).data(), m_);
    Eigen::VectorXd gradient = ridges.cwiseProduct(rho);
    double mass = 0.0;
    for (int t = 1; t <= kPeriods; ++t) {
      const double weight = std::exp2(-0.25 * (kPeriods / 4 - (t - 1) / 4));
      if (t % 3 != a || weight < 1.0 / 1024) continue;
      const Eigen::VectorXd psi = Eigen::Map<const Eigen::VectorXf>(request(t).psi.data(), m_).cast<double>();
      const Output seen = output(replication_.tape.online_row(t - 1), a);
      design += weight * psi * psi.transpose();
      gradient += weight * index_moment(psi.dot(rho), seen.cost, seen.mu).moment * psi;
      mass += weight;
    }
    EXPECT_LT(gradient.norm(), 1e-8) << a;
    const Eigen::VectorXd psi = Eigen::Map<const Eigen::VectorXf>(request(1).psi.data(), m_).cast<double>();
    EXPECT_NEAR(estimator.width(a), std::sqrt(psi.dot(design.llt().solve(psi))), 1e-10);
    EXPECT_EQ(estimator.samples(a), static_cast<int>(std::lround(mass)));
  }
}

TEST_F(EstimatorThatForgets, ThetaIsThatOfTheWeightedSamples) {
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  WeitzmanEstimator estimator(replication_, dow(RewardModel::learned), options);
  learn(estimator, 1, kPeriods);
  const std::size_t d = estimator.theta().size();
  const Eigen::VectorXd theta = Eigen::Map<const Eigen::VectorXd>(estimator.theta().data(), d);
  Eigen::VectorXd gradient = 2.0 * theta;
  Eigen::MatrixXd design = 2.0 * Eigen::MatrixXd::Identity(d, d);
  for (int t = 1; t <= kPeriods; ++t) {
    const double weight = std::exp2(-0.25 * (kPeriods / 4 - (t - 1) / 4));
    if (weight < 1.0 / 1024) continue;
    const int row = replication_.tape.online_row(t - 1), a = t % 3;
    const Eigen::VectorXd phi = Eigen::Map<const Eigen::VectorXf>(output(row, a).phi.data(), d).cast<double>();
    const double reward = replication_.tape.reward[replication_.tape.at(row, a)];
    gradient += weight * (1.0 / (1.0 + std::exp(-theta.dot(phi))) - reward) * phi;
    design += weight * phi * phi.transpose();
  }
  EXPECT_LT(gradient.norm(), 1e-8);
  const Output any = output(4, 1);
  const Eigen::VectorXd phi = Eigen::Map<const Eigen::VectorXf>(any.phi.data(), d).cast<double>();
  EXPECT_NEAR(estimator.reward_width(any.phi), std::sqrt(phi.dot(design.llt().solve(phi))), 1e-10);
}

// Each box is opened in every third period. With at most 20 samples of a box, the 21st sample drops the first 11.
TEST_F(EstimatorThatForgets, OfTooManySamplesTheOlderHalfIsAsIfItHadNeverBeen) {
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
    for (const Fit fit : {Fit::separate, Fit::shrunk}) {
      EstimationOptions options = exact_;
      options.most_samples = 20;
      LaneSpec rules = dow(reward);
      rules.fit = fit;
      rules.shrinkage = Shrinkage::fixed;  // a learned ridge remembers
      WeitzmanEstimator estimator(replication_, rules, options);
      learn(estimator, 1, 63);
      int most = 0;
      for (int a = 0; a < 3; ++a) most = std::max(most, estimator.samples(a));
      EXPECT_LE(most, 20);
      EXPECT_GE(most, 10);
      if (fit == Fit::shrunk || reward == RewardModel::learned) continue;  // boxes drop samples at different periods
      WeitzmanEstimator latest(replication_, rules, exact_);
      learn(latest, 34, 63);
      for (int a = 0; a < 3; ++a)
        for (std::size_t k = 0; k < m_; ++k) EXPECT_NEAR(estimator.rho(a)[k], latest.rho(a)[k], 1e-7) << a;
    }
}

// With a window of 20 periods, period 120 leaves the samples of the last 20 periods. Period 118 leaves those of the
// last 23, because samples are dropped only in every fifth period. A restart keeps what was learned before. LinUCB
// keeps samples for this.
TEST_F(EstimatorThatForgets, WhatAWindowOrARestartLeavesIsAsIfTheRestHadNeverBeen) {
  LaneSpec linucb;
  linucb.score = Score::learned_payoff;
  linucb.learning = Learning::online;
  linucb.c_b = 0.3;
  struct Left {
    Forgetting how;
    int until, first, last;
  };
  const Left cases[] = {{{.window = 20}, 120, 101, 120},
                        {{.window = 20}, 118, 96, 118},
                        {{.restart_at = 90, .lost = 31}, 90, 1, 59},
                        {{.restart_at = 90, .lost = 500}, 90, 1, 0}};
  for (const Left& left : cases)
    for (const LaneSpec& rules : {dow(RewardModel::known), dow(RewardModel::learned), linucb}) {
      EstimationOptions options = exact_;
      options.forgetting = left.how;
      WeitzmanEstimator estimator(replication_, rules, options), other(replication_, rules, exact_);
      learn(estimator, 1, left.until);
      learn(other, left.first, left.last);
      estimator.begin(request(1));
      other.begin(request(1));
      const Output any = output(4, 1);
      EXPECT_NEAR(estimator.reward_width(any.phi), other.reward_width(any.phi), 1e-10);
      for (int a = 0; a < 3; ++a) {
        EXPECT_EQ(estimator.samples(a), other.samples(a));
        EXPECT_NEAR(estimator.width(a), other.width(a), 1e-10);
        for (std::size_t k = 0; k < m_; ++k) EXPECT_NEAR(estimator.rho(a)[k], other.rho(a)[k], 1e-6) << a;
      }
      for (std::size_t k = 0; k < other.theta().size(); ++k) EXPECT_NEAR(estimator.theta()[k], other.theta()[k], 1e-6);
    }
}

// For fading, LinUCB needs no stored samples. Its design and estimate are those of weighted least squares with its
// ridge.
TEST_F(EstimatorThatForgets, PayoffsFadeToo) {
  LaneSpec rules;
  rules.score = Score::learned_payoff;
  rules.learning = Learning::online;
  rules.c_b = 0.3;
  EstimationOptions options = exact_;
  options.forgetting.half_life = 16;
  options.ridge_payoff = 2.5;
  WeitzmanEstimator estimator(replication_, rules, options);
  learn(estimator, 1, kPeriods);
  Eigen::MatrixXd design = 2.5 * Eigen::MatrixXd::Identity(m_, m_);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(m_);
  for (int t = 3; t <= kPeriods; t += 3) {
    const double weight = std::exp2(-0.25 * (kPeriods / 4 - (t - 1) / 4));
    const Eigen::VectorXd psi = Eigen::Map<const Eigen::VectorXf>(request(t).psi.data(), m_).cast<double>();
    const int row = replication_.tape.online_row(t - 1);
    const std::size_t at = replication_.tape.at(row, 0);
    design += weight * psi * psi.transpose();
    sum += weight * (replication_.tape.reward[at] - replication_.tape.cost[at]) * psi;
  }
  const Eigen::VectorXd wanted = design.llt().solve(sum);
  for (std::size_t k = 0; k < m_; ++k) EXPECT_NEAR(estimator.rho(0)[k], wanted[static_cast<Eigen::Index>(k)], 1e-10);
}

}  // namespace
}  // namespace pandora
