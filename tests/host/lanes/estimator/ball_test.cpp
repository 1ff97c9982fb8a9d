// Compares fits in balls with projected gradient steps, and with a search over the circle.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "host/lanes/estimator/index_fit.hpp"
#include "host/lanes/estimator/reward_fit.hpp"
#include "tests/reference/index_data.hpp"
#include "tests/reference/naive_fits.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::random_vector;

TEST(MinimiseInBall, IsWhereProjectedGradientStepsEnd) {
  test::Random random(1);
  int on_sphere = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int m = 1 + random.below(6);
    MatrixXd root(m, m);
    for (int k = 0; k < m; ++k) root.col(k) = random_vector(m, 1.0, random);
    const MatrixXd hessian = root * root.transpose() + 0.1 * MatrixXd::Identity(m, m);
    const VectorXd gradient = random_vector(m, 2.0, random), at = random_vector(m, 1.0, random);
    const double radius = random.uniform(0.1, 8.0);
    MatrixXd lower = hessian;
    lower.triangularView<Eigen::StrictlyUpper>().setConstant(99.0);  // only the lower triangle may be read
    const BallPoint found = minimise_in_ball(lower, gradient, at, radius);
    VectorXd y = VectorXd::Zero(m);
    for (int step = 0; step < 20000; ++step) {
      y -= (gradient + hessian * (y - at)) / hessian.trace();
      if (y.norm() > radius) y *= radius / y.norm();
    }
    EXPECT_LT((found.y - y).norm(), 1e-9) << trial;
    EXPECT_LT((gradient + hessian * (found.y - at) + found.multiplier * found.y).norm(), 1e-9) << trial;
    EXPECT_LE(found.y.norm(), radius * (1.0 + 1e-15));
    on_sphere += found.multiplier > 0.0 ? 1 : 0;
  }
  EXPECT_GT(on_sphere, 20);
  EXPECT_LT(on_sphere, 55);
}

// Finds multipliers from 1e-13 to 1e13, for eigenvalues from 1e-6 to 1e6.
TEST(MinimiseInBall, FindsMultipliersOfAnySize) {
  MatrixXd hessian = MatrixXd::Zero(3, 3);
  hessian.diagonal() << 1e-6, 1.0, 1e6;
  const VectorXd gradient = VectorXd::Constant(3, -1.0);
  for (const double radius : {1e-13, 1e-6, 0.1, 1.0, 50.0, 1e5, 0.999999e6}) {
    const BallPoint found = minimise_in_ball(hessian, gradient, VectorXd::Zero(3), radius);
    EXPECT_NEAR(found.y.norm() / radius, 1.0, 1e-13) << radius;
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(found.y[k] * (hessian(k, k) + found.multiplier), 1.0, 1e-9) << radius << " " << k;
  }
  EXPECT_EQ(minimise_in_ball(hessian, gradient, VectorXd::Zero(3), 2e6).multiplier, 0.0);
}

struct IndexCase {
  test::IndexData data;
  std::vector<naive::IndexSample> samples;

  IndexCase(int n, int m, std::uint64_t seed) : data(test::random_index_data(n, m, seed)) {
    for (int s = 0; s < n; ++s)
      samples.push_back({Eigen::Map<const Eigen::VectorXf>(data.contexts.psi_row(s), m).cast<double>(),
                         {},
                         data.samples.cost[static_cast<std::size_t>(s)]});
  }
  VectorXd fit(Ridges ridges, VectorXd start, double radius) const {
    fit_index(data.contexts, data.samples, ridges, start, radius);
    return start;
  }
};

TEST(FitIndexInBall, IsWhereProjectedGradientStepsEnd) {
  test::Random random(2);
  int on_sphere = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const int m = 2 + random.below(4), n = 3 + random.below(60);
    const IndexCase one(n, m, 300 + seed);
    // Some ridges are next to zero, because the paper's estimator has no ridge.
    const Ridges ridges = seed % 3 == 0 ? Ridges(1e-6) : Ridges(0.2, random.uniform(0.05, 3.0));
    const double radius = random.uniform(0.1, 1.5);
    const VectorXd found = one.fit(ridges, random_vector(m, 2.0, random), radius);
    const VectorXd wanted = naive::fit_index_in_ball(one.samples, one.data.samples.mu,
                                                     naive::ridges_of(m, ridges.first, ridges.others), radius);
    // Without a ridge, few samples leave directions free. Then only the loss is determined, and not rho.
    const auto loss = [&](const VectorXd& rho) {
      return index_objective(one.data.contexts, one.data.samples, ridges, rho);
    };
    EXPECT_LE(loss(found), loss(wanted) + 1e-10) << seed;
    EXPECT_LE(found.norm(), radius * (1.0 + 1e-14)) << seed;
    const double apart = n > 2 * m ? (found - wanted).norm() : 0.0;
    EXPECT_LT(apart, 1e-6) << seed;
    on_sphere += reaches_sphere(found, radius) ? 1 : 0;
  }
  EXPECT_GT(on_sphere, 6);
  EXPECT_LT(on_sphere, 20);
}

TEST(FitIndexInBall, DoesNotDependOnItsStart) {
  const IndexCase one(400, 6, 9);
  test::Random random(3);
  const VectorXd free = one.fit(1e-3, VectorXd::Zero(6), 0.0);
  for (const double part : {0.01, 0.3, 0.9, 0.9999999, 1.0000001, 4.0}) {
    const double radius = part * free.norm();
    const VectorXd wanted = one.fit(1e-3, VectorXd::Zero(6), radius);
    EXPECT_NEAR(wanted.norm(), std::min(radius, free.norm()), 1e-9 * radius);
    for (int trial = 0; trial < 5; ++trial)
      EXPECT_LT((one.fit(1e-3, random_vector(6, 4.0, random), radius) - wanted).norm(), 1e-8) << part;
    const double apart = part > 1.0 ? (wanted - free).norm() : 0.0;
    EXPECT_LT(apart, 1e-8) << part;
  }
}

// With many samples in a small ball, the gradient on the sphere is large. Its rounding must not look like a step to
// take.
TEST(FitIndexInBall, ConvergesWhereTheMultiplierIsLarge) {
  const IndexCase one(30000, 4, 10);
  for (const double radius : {1e-6, 1e-3, 0.05}) {
    const VectorXd found = one.fit(1e-6, VectorXd::Zero(4), radius);
    EXPECT_NEAR(found.norm(), radius, 1e-12 * radius);
    VectorXd gradient;
    index_derivatives(one.data.contexts, one.data.samples, 1e-6, found, gradient, nullptr);
    EXPECT_GT(gradient.norm(), 1e3);
    EXPECT_NEAR(gradient.dot(found) / (gradient.norm() * found.norm()), -1.0, 1e-12) << radius;
  }
}

struct Rewards {
  RewardSamples samples;
  std::vector<naive::RewardSample> naive_samples;

  Rewards(int n, int d, std::uint64_t seed) {
    test::Random random(seed);
    for (int k = 0; k < n; ++k) {
      VectorXd phi(d);
      double z = 0.0;
      for (int j = 0; j < d; ++j) {
        phi[j] = samples.phi.emplace_back(static_cast<float>(random.uniform(-1.0, 2.0)));
        z += (j % 2 == 0 ? 3.0 : -1.0) * phi[j];
      }
      samples.reward.push_back(random.uniform(0.0, 1.0) < 1.0 / (1.0 + std::exp(-z)) ? 1.0 : 0.0);
      naive_samples.push_back({phi, samples.reward.back()});
    }
  }
  VectorXd fit(double ridge, double radius, const VectorXd& start) const {
    const int d = static_cast<int>(start.size());
    std::vector<double> memory(static_cast<std::size_t>(RewardState::size(d)));
    RewardState state = RewardState::over(memory.data(), d);
    state.reset(ridge);
    std::copy_n(start.data(), d, state.theta);
    fit_reward(samples, ridge, state, radius);
    return Eigen::Map<const VectorXd>(state.theta, d);
  }
};

// (eq:hat:theta:def) minimises a norm of the residual. On the sphere this is not the maximum of the likelihood.
TEST(FitRewardInBall, IsTheBestAngleOfTheCircle) {
  int on_circle = 0;
  double apart = 0.0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int n = seed < 10 ? 6 : 200;
    const Rewards data(n, 2, 40 + seed);
    for (const double radius : {0.3, 1.0, 2.0}) {
      const double ridge = seed % 2 == 0 ? 0.01 : 1.0;
      const VectorXd found = data.fit(ridge, radius, VectorXd::Zero(2));
      const VectorXd wanted = naive::fit_reward_in_disc(data.naive_samples, ridge, 2, radius);
      EXPECT_LT((found - wanted).norm(), 1e-6) << seed << " " << radius;
      EXPECT_LE(found.norm(), radius * (1.0 + 1e-14));
      if (!reaches_sphere(found, radius)) continue;
      ++on_circle;
      const VectorXd zero = naive::fit_reward(data.naive_samples, ridge, 2);
      apart = std::max(apart, (found - zero * (radius / zero.norm())).norm());
    }
  }
  EXPECT_GT(on_circle, 20);
  EXPECT_LT(on_circle, 60);
  EXPECT_GT(apart, 0.01);  // it is not the zero scaled to the circle either
}

// In more dimensions, no direction along the sphere makes the residual smaller, and the start does not matter.
TEST(FitRewardInBall, NoDirectionAlongTheSphereIsBetter) {
  const Rewards data(150, 5, 7);
  test::Random random(8);
  const VectorXd found = data.fit(0.1, 1.0, VectorXd::Zero(5));
  EXPECT_NEAR(found.norm(), 1.0, 1e-12);
  const double least = naive::reward_norm(data.naive_samples, 0.1, found);
  for (int trial = 0; trial < 200; ++trial) {
    const VectorXd other = (found + random_vector(5, trial < 100 ? 1e-3 : 1.0, random)).normalized();
    EXPECT_GE(naive::reward_norm(data.naive_samples, 0.1, other), least - 1e-9);
  }
  EXPECT_LT((data.fit(0.1, 1.0, random_vector(5, 3.0, random)) - found).norm(), 1e-8);
}

}  // namespace
}  // namespace pandora
