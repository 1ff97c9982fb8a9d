// Compares theta_hat's exact solve by teams without vectors with Newton's method in double. Tests the paper's d, for
// which sums are in registers, and another d.
#include "kernels/solve/reward_solve.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/reference/fiber_team.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::by_fibers;
using test::FiberTeam;

constexpr double kRewardRidge = 0.75;

/// A lane with n deployed samples, some of a tape's rows more than once.
class OneReward {
 public:
  OneReward(int d, int n, bool fades) : d_(d), n_(n) {
    test::Random random(7);
    const std::size_t cells = static_cast<std::size_t>(n) + 30;
    phi_.resize(cells * static_cast<std::size_t>(d));
    for (float& x : phi_) x = static_cast<float>(random.uniform(-1.0, 1.0));
    for (std::size_t k = 0; k < cells; ++k) told_.push_back(random.uniform(0.0, 1.0) < 0.3 ? 1.0f : 0.0f);
    for (int s = 0; s < n; ++s) {
      deployed_.push_back((s * 7 + 3) % (n + 20));
      weight_.push_back(static_cast<float>(random.uniform(0.1, 1.0)));
    }
    for (std::size_t k = phi_.size() - static_cast<std::size_t>(10 * d); k < phi_.size(); ++k)
      phi_[k] = std::numeric_limits<float>::quiet_NaN();  // features that nobody may read
    memory_.resize(static_cast<std::size_t>(RewardState::size(d) + engine::reward_scratch(d)),
                   std::numeric_limits<double>::quiet_NaN());
    RewardState::over(memory_.data(), d).reset(kRewardRidge);
    problem_.shape.d = d;
    problem_.shape.A = 1;
    problem_.ridge_reward = kRewardRidge;
    lane_.reward_memory = memory_.data();
    lane_.deployed = deployed_.data();
    lane_.reward_weight = fades ? weight_.data() : nullptr;
    lane_.tape.phi = phi_.data();
    lane_.tape.told = told_.data();
    lane_.progress = &progress_;
    progress_.reward_samples = n;
  }
  OneReward(const OneReward&) = delete;

  template <class Team>
  bool solve(const Team& team) {
    return engine::RewardSolve<float, Team>(team, problem_, lane_).solve();
  }
  /// theta_hat, and C in full.
  std::vector<double> found() const {
    const RewardState state = RewardState::over(const_cast<double*>(memory_.data()), d_);
    std::vector<double> out(state.theta, state.theta + d_);
    for (int i = 0; i < d_; ++i)
      for (int j = 0; j < d_; ++j) out.push_back(state.curvature_inverse[i * RewardState::stride(d_) + j]);
    return out;
  }
  std::vector<double> wanted() const {
    VectorXd theta = VectorXd::Zero(d_);
    MatrixXd hessian;
    for (int step = 0; step < 30; ++step) {
      VectorXd gradient = kRewardRidge * theta;
      hessian = kRewardRidge * MatrixXd::Identity(d_, d_);
      for (int s = 0; s < n_; ++s) {
        const int at = deployed_[static_cast<std::size_t>(s)];
        VectorXd x(d_);
        for (int k = 0; k < d_; ++k) x[k] = phi_[static_cast<std::size_t>(at * d_ + k)];
        const double weight = lane_.reward_weight == nullptr ? 1.0 : weight_[static_cast<std::size_t>(s)],
                     mean = 1.0 / (1.0 + std::exp(-theta.dot(x)));
        gradient += weight * (mean - told_[static_cast<std::size_t>(at)]) * x;
        hessian += weight * mean * (1.0 - mean) * x * x.transpose();
      }
      theta -= hessian.llt().solve(gradient);
    }
    std::vector<double> out(theta.data(), theta.data() + d_);
    const MatrixXd inverse = hessian.llt().solve(MatrixXd::Identity(d_, d_));
    out.insert(out.end(), inverse.data(), inverse.data() + d_ * d_);
    return out;
  }
  std::vector<float>& phi() { return phi_; }
  int first_place() const { return deployed_[0]; }
  const engine::Progress& progress() const { return progress_; }

 private:
  int d_, n_;
  std::vector<float> phi_, told_, weight_;
  std::vector<int> deployed_;
  std::vector<double> memory_;
  engine::Problem<float> problem_{};
  engine::LaneView<float> lane_;
  engine::Progress progress_;
};

TEST(RewardSolve, FindsWhatNewtonsMethodFindsByTeamsOfAnySize) {
  for (const int d : {10, 7})
    for (const int n : {1, 5, 31, 33, 127, 128, 129, 900, 9000})
      for (const bool fades : {false, true}) {
        SCOPED_TRACE(testing::Message() << "d = " << d << ", " << n << " samples, " << fades);
        OneReward one(d, n, fades);
        ASSERT_TRUE(one.solve(SerialTeam{}));
        EXPECT_EQ(one.progress().reward_samples_at_solve, n);
        const std::vector<double> found = one.found(), wanted = one.wanted();
        // C belongs to the point at which the last step began. The solver's tolerance bounds this step.
        for (std::size_t k = 0; k < wanted.size(); ++k)
          ASSERT_NEAR(found[k], wanted[k], static_cast<int>(k) < d ? 2e-6 : 2e-4) << k;
        unsigned seed = 3;
        for (const int members : {32, 128, 128, 384}) {
          OneReward other(d, n, fades);
          by_fibers(members, [&other](const FiberTeam& team) { EXPECT_TRUE(other.solve(team)); }, {seed++});
          EXPECT_EQ(other.found(), found) << members << " members";
          EXPECT_EQ(other.progress().reward_solves, 1);
        }
        OneReward warp(d, n, fades);
        test::run_fibers(32, {}, [&warp] { EXPECT_TRUE(warp.solve(test::FiberWarp{})); });
        EXPECT_EQ(warp.found(), found) << "a warp";
      }
}

TEST(RewardSolve, FailsWhereANumberIsNotFinite) {
  for (const int d : {10, 7}) {
    OneReward one(d, 40, false);
    one.phi()[static_cast<std::size_t>(one.first_place() * d + 2)] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(one.solve(SerialTeam{}));
    OneReward other(d, 40, false);
    other.phi()[static_cast<std::size_t>(other.first_place() * d)] = std::numeric_limits<float>::infinity();
    by_fibers(128, [&other](const FiberTeam& team) { EXPECT_FALSE(other.solve(team)); });
  }
}

TEST(RewardSolve, AnInverseRootOfWhatIsNotPositiveIsNone) {
  constexpr int d = 10;
  double gradient[d] = {1.0}, hessian[d * d] = {}, L[d * d], direction[d];
  for (int i = 0; i < d; ++i) hessian[i * (d + 1)] = i == 4 ? -1.0 : 2.0;
  gradient[4] = 1.0;
  engine::RewardSums<d>::direct(SerialTeam{}, gradient, hessian, L, direction);
  EXPECT_TRUE(std::isnan(direction[4]));
}

}  // namespace
}  // namespace pandora
