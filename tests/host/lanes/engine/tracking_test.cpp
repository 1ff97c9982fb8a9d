// Compares `tracking` with a solve in every period, and its formula for a move of theta_hat with exact solves.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "tests/reference/followers.hpp"
#include "tests/reference/naive_fits.hpp"

namespace pandora {
namespace {

std::vector<std::vector<int>> decisions(const Replication& replication, const LaneSpec& lane, const char* refit,
                                        std::vector<double>* scores = nullptr) {
  std::vector<std::vector<int>> out;
  test::run_observed(replication, lane, {parse_refit(refit), 1.0, 1.0}, [&](const test::PeriodView& view) {
    out.emplace_back(view.outcome->order, view.outcome->order + view.outcome->queried);
    out.back().push_back(view.outcome->deployed);
    if (scores != nullptr) scores->insert(scores->end(), view.score, view.score + replication.tape.boxes());
  });
  return out;
}

// Up to 200 samples of a box, an exact solve follows every sample. If mu* is known, nothing else moves rho_hat.
TEST(Tracking, IsEveryPeriodUpTo200SamplesWithKnownReward) {
  for (std::uint64_t seed = 31; seed < 34; ++seed) {
    const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 30, 190, seed);
    const LaneSpec lane = test::dow_lane(RewardModel::known, 30);
    std::vector<double> tracked, solved;
    EXPECT_EQ(decisions(replication, lane, "tracking", &tracked),
              decisions(replication, lane, "every_period", &solved));
    EXPECT_LE(test::largest_distance(tracked, solved), 1e-8);
  }
}

// Beyond 200 samples the Newton steps keep scores close to those of exact solves, but not equal.
TEST(Tracking, StaysCloseToEveryPeriodBeyond200Samples) {
  Replication replication = test::small_replication(test::small_dimensions(1, 5, 3), Regime::B, 0, 700, 35);
  std::vector<double> tracked, solved, frozen;
  decisions(replication, test::dow_lane(RewardModel::known, 0), "tracking", &tracked);
  decisions(replication, test::dow_lane(RewardModel::known, 0), "every_period", &solved);
  decisions(replication, test::dow_lane(RewardModel::known, 0), "geometric:1.1", &frozen);
  double squares = 0.0, frozen_squares = 0.0, largest_early = 0.0;
  for (std::size_t t = 0; t < solved.size(); ++t) {
    const double z = std::atanh(solved[t]);
    if (t < 200) largest_early = std::max(largest_early, std::abs(std::atanh(tracked[t]) - z));
    if (t < 250) continue;
    squares += std::pow(std::atanh(tracked[t]) - z, 2) / 450.0;
    frozen_squares += std::pow(std::atanh(frozen[t]) - z, 2) / 450.0;
  }
  EXPECT_LT(largest_early, 1e-8);
  EXPECT_GT(squares, 1e-16);                 // so it does not solve exactly
  EXPECT_LT(squares, 0.1 * frozen_squares);  // without steps the error is ten times as large
}

// The bound on the mean paired difference of utility is four standard errors.
TEST(Tracking, LosesNoRegretAgainstEveryPeriod) {
  constexpr int kReplications = 10, kPeriods = 500;
  for (const RewardSetting& reward : kRewardSettings) {
    double sum = 0.0, squares = 0.0, rough = 0.0;
    Dimensions dimensions = test::small_dimensions(2, 4, 3);
    dimensions.radius_draws = Dimensions{}.radius_draws;
    for (std::uint32_t r = 0; r < kReplications; ++r) {
      const Replication replication = test::small_replication(dimensions, Regime::B, 20, kPeriods, 36, r);
      const LaneSpec lane = test::dow_lane(reward.model, 20);
      const auto utility = [&](const char* refit) {
        return run_reference_lane(replication, lane, {parse_refit(refit), 1.0, 1.0}).utility / kPeriods;
      };
      const double exact = utility("every_period"), difference = utility("tracking") - exact;
      sum += difference / kReplications;
      squares += difference * difference;
      rough += std::abs(utility("geometric:4") - exact) / kReplications;
    }
    const double standard_error = std::sqrt((squares / kReplications - sum * sum) / (kReplications - 1)) + 1e-12;
    EXPECT_LT(std::abs(sum), 4.0 * standard_error) << reward.name;
    EXPECT_LT(std::abs(sum), 5e-4) << reward.name;
    EXPECT_GT(rough, std::abs(sum)) << reward.name;  // a coarse schedule differs more
  }
}

// The rule that moves boxes that were not queried, d rho_hat / d theta = H^-1 M, where M is the sum of psi G' phi' over
// active samples.
Eigen::MatrixXd derivative_at(const std::vector<naive::IndexSample>& samples, const std::vector<double>& mu,
                              const Eigen::VectorXd& rho) {
  const Eigen::Index m = rho.size(), d = samples[0].phi.size();
  Eigen::MatrixXd H = Eigen::MatrixXd::Identity(m, m), M = Eigen::MatrixXd::Zero(m, d);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const double link = std::tanh(samples[s].psi.dot(rho));
    if (mu[s] <= link) continue;
    H += (1.0 - link * link) * samples[s].psi * samples[s].psi.transpose();
    M += mu[s] * (1.0 - mu[s]) * samples[s].psi * samples[s].phi.transpose();
  }
  return H.inverse() * M;
}

std::vector<double> rewards_at(const std::vector<naive::IndexSample>& samples, const Eigen::VectorXd& theta) {
  std::vector<double> mu;
  for (const naive::IndexSample& sample : samples) mu.push_back(naive::reward_link(theta.dot(sample.phi)));
  return mu;
}

// It is compared with exact solves at theta plus and minus a small step.
TEST(Tracking, MoveOfThetaIsTheDerivativeOfTheMinimiser) {
  test::Random random(37);
  constexpr int kSamples = 60, m = 4, d = 3;
  const auto vector = [&](int n) {
    Eigen::VectorXd out(n);
    for (int i = 0; i < n; ++i) out[i] = random.uniform(-1.0, 1.0);
    return out;
  };
  std::vector<naive::IndexSample> samples;
  for (int s = 0; s < kSamples; ++s) samples.push_back({vector(m), vector(d), random.uniform(0.0, 0.2)});
  const Eigen::VectorXd theta = vector(d), direction = vector(d);
  const std::vector<double> mu = rewards_at(samples, theta);
  const Eigen::VectorXd rho = naive::fit_index(samples, mu, 1.0);
  constexpr double kStep = 1e-5;
  const Eigen::VectorXd difference = (naive::fit_index(samples, rewards_at(samples, theta + kStep * direction), 1.0) -
                                      naive::fit_index(samples, rewards_at(samples, theta - kStep * direction), 1.0)) /
                                     (2.0 * kStep);
  EXPECT_LT((difference - derivative_at(samples, mu, rho) * direction).norm(), 1e-5);
}

// Newton steps begin only after 200 samples, but moves of theta show at once. After the first online period, the box
// that was not queried has moved by H^-1 M dtheta and by nothing else.
TEST(Tracking, BoxThatWasNotQueriedMovesByTheRuleAlone) {
  int checked = 0;
  for (std::uint64_t seed = 40; seed < 60 && checked < 3; ++seed) {
    const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 16, 2, seed);
    const Tape& tape = replication.tape;
    const LaneSpec lane = test::dow_lane(RewardModel::learned, 16);
    std::vector<double> scores, width;
    std::vector<int> queried;
    int deployed = 0;
    test::run_observed(replication, lane, {parse_refit("tracking"), 1.0, 1.0}, [&](const test::PeriodView& view) {
      scores.insert(scores.end(), view.score, view.score + 2);
      width.insert(width.end(), view.width, view.width + 2);
      if (view.period == 0) {
        queried.assign(view.outcome->order, view.outcome->order + view.outcome->queried);
        deployed = view.outcome->deployed;
      }
    });
    if (queried.size() != 1) continue;
    ++checked;
    const int other = 1 - queried[0];
    const auto psi = [&](int row) {
      return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXf>(tape.contexts.psi_row(row), 4).cast<double>());
    };
    const auto phi = [&](int row, int a) {
      return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXf>(tape.phi_of(row, a), 2).cast<double>());
    };
    std::vector<naive::RewardSample> rewards;
    std::vector<naive::IndexSample> samples;
    for (int k = 0; k < 16; ++k) {
      const int row = tape.calibration_row(k), a = k % 2;
      rewards.push_back({phi(row, a), static_cast<double>(tape.reward[tape.at(row, a)])});
      if (a == other) samples.push_back({psi(row), phi(row, a), tape.cost[tape.at(row, a)]});
    }
    const Eigen::VectorXd theta = naive::fit_reward(rewards, 1.0, 2);
    const std::vector<double> mu = rewards_at(samples, theta);
    const Eigen::VectorXd rho = naive::fit_index(samples, mu, 1.0);
    const int first = tape.online_row(0);
    rewards.push_back({phi(first, deployed), static_cast<double>(tape.reward[tape.at(first, deployed)])});
    const Eigen::VectorXd moved = naive::fit_reward(rewards, 1.0, 2);  // an exact solve, as 17 >= 1.05 x 16
    const Eigen::VectorXd second = psi(tape.online_row(1));
    const double move = (derivative_at(samples, mu, rho) * (moved - theta)).dot(second),
                 z = rho.dot(second) + move + lane.c_rho * width[2 + other];
    EXPECT_NEAR(std::atanh(scores[2 + other]), z, 1e-7) << "seed " << seed;
    EXPECT_GT(std::abs(move), 1e-5) << "seed " << seed;  // it does move
  }
  EXPECT_EQ(checked, 3);
}

}  // namespace
}  // namespace pandora
