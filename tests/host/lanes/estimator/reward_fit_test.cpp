// Compares theta_hat, its steps for single samples and its design with definitions, dense inverses and bisection.
#include "host/lanes/estimator/reward_fit.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double G(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

struct Estimate {
  std::vector<double> memory;
  RewardState state;
  Estimate(int d, double ridge) : memory(static_cast<std::size_t>(RewardState::size(d))) {
    state = RewardState::over(memory.data(), d);
    state.reset(ridge);
  }
  VectorXd theta() const { return Eigen::Map<const VectorXd>(state.theta, state.d); }
  MatrixXd design_inverse() const { return matrix(state.design_inverse); }
  MatrixXd curvature_inverse() const { return matrix(state.curvature_inverse); }

 private:
  MatrixXd matrix(const double* rows) const {
    return Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(rows, state.d, state.d, {RewardState::stride(state.d)});
  }
};

struct Data {
  int d;
  RewardSamples samples = {};
  const float* features(int k) const { return samples.phi.data() + static_cast<std::size_t>(k) * d; }
  VectorXd phi(int k) const { return Eigen::Map<const Eigen::VectorXf>(features(k), d).cast<double>(); }
};

Data random_data(int n, int d, std::uint64_t seed) {
  test::Random random(seed);
  Data data{d};
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < d; ++j) data.samples.phi.push_back(static_cast<float>(random.uniform(-2.0, 2.0)));
    data.samples.reward.push_back(random.uniform(0.0, 1.0) < 0.6 ? 1.0 : 0.0);
  }
  return data;
}

TEST(FitReward, BalancesResidualsAgainstTheRidge) {
  for (const double ridge : {0.05, 1.0, 7.0})
    for (const int n : {1, 3, 40, 700}) {
      const Data data = random_data(n, 4, static_cast<std::uint64_t>(n));
      Estimate estimate(4, ridge);
      fit_reward(data.samples, ridge, estimate.state);
      VectorXd residual = -ridge * estimate.theta();
      for (int k = 0; k < n; ++k)
        residual += (data.samples.reward[k] - G(estimate.theta().dot(data.phi(k)))) * data.phi(k);
      EXPECT_LT(residual.norm(), 1e-7) << "ridge " << ridge << ", n = " << n;
    }
}

TEST(FitReward, ConvergesFromFarStarts) {
  const Data data = random_data(30, 3, 5);
  Estimate near(3, 1.0), far(3, 1.0);
  far.state.theta[0] = 40.0;  // the link is saturated there, so only the ridge gives curvature
  far.state.theta[2] = -40.0;
  fit_reward(data.samples, 1.0, near.state);
  fit_reward(data.samples, 1.0, far.state);
  EXPECT_LT((near.theta() - far.theta()).norm(), 1e-8);
}

TEST(FitReward, RebuildsTheCurvatureAtTheSolutionAndLeavesTheDesignAlone) {
  const Data data = random_data(50, 3, 6);
  Estimate estimate(3, 0.5);
  estimate.state.design_inverse[1] = 123.0;
  fit_reward(data.samples, 0.5, estimate.state);
  MatrixXd curvature = 0.5 * MatrixXd::Identity(3, 3);
  for (int k = 0; k < 50; ++k) {
    const double g = G(estimate.theta().dot(data.phi(k)));
    curvature += g * (1.0 - g) * data.phi(k) * data.phi(k).transpose();
  }
  EXPECT_LT((estimate.curvature_inverse() - curvature.inverse()).norm(), 1e-9);
  EXPECT_EQ(estimate.state.design_inverse[1], 123.0);
}

// A cascade's features are mostly 0. With features H phi, where H H' = 8 and H has no zeros, the same problem has the
// solution H theta / 8.
TEST(FitReward, FeaturesThatAreMostlyZeroAreTheSameProblem) {
  MatrixXd H = MatrixXd::Ones(1, 1);
  while (H.rows() < 8) H = (MatrixXd(2 * H.rows(), 2 * H.rows()) << H, H, H, -H).finished();
  test::Random random(9);
  RewardSamples few, full;
  for (int k = 0; k < 60; ++k) {
    VectorXd phi = VectorXd::Zero(8);
    phi[2 * (k % 4)] = 1.0;
    phi[2 * (k % 4) + 1] = std::round(random.uniform(-128.0, 128.0)) / 64.0;  // so that H phi is a float
    const VectorXd dense = H * phi;
    few.phi.insert(few.phi.end(), phi.begin(), phi.end());
    full.phi.insert(full.phi.end(), dense.begin(), dense.end());
    few.reward.push_back(random.uniform(0.0, 1.0) < 0.6 ? 1.0 : 0.0);
    few.weight.push_back(random.uniform(0.2, 1.0));
  }
  full.reward = few.reward;
  full.weight = few.weight;
  for (const double radius : {0.0, 0.4}) {
    Estimate own(8, 0.5), turned(8, 4.0);
    fit_reward(few, 0.5, own.state, radius);
    fit_reward(full, 4.0, turned.state, radius / std::sqrt(8.0));
    if (radius > 0.0) {
      EXPECT_NEAR(own.theta().norm(), radius, 1e-9);
    }
    EXPECT_LT((H * own.theta() / 8.0 - turned.theta()).norm(), 1e-7) << radius;
    EXPECT_LT((H * own.curvature_inverse() * H.transpose() / 64.0 - turned.curvature_inverse()).norm(), 1e-7);
  }
}

TEST(RewardState, CarriesBothInversesAndTheStepsOfEachSample) {
  const Data data = random_data(200, 4, 9);
  Estimate estimate(4, 0.7);
  MatrixXd design = 0.7 * MatrixXd::Identity(4, 4), curvature = design;
  VectorXd theta = VectorXd::Zero(4);
  for (int k = 0; k < 200; ++k) {
    estimate.state.observe(data.features(k), data.samples.reward[k]);
    const double g = G(theta.dot(data.phi(k)));  // at theta before this sample
    design += data.phi(k) * data.phi(k).transpose();
    curvature += g * (1.0 - g) * data.phi(k) * data.phi(k).transpose();
    theta += curvature.inverse() * data.phi(k) * (data.samples.reward[k] - g);
    ASSERT_LT((estimate.design_inverse() - design.inverse()).norm(), 1e-11) << "sample " << k;
    ASSERT_LT((estimate.curvature_inverse() - curvature.inverse()).norm(), 1e-10) << "sample " << k;
    ASSERT_LT((estimate.theta() - theta).norm(), 1e-10) << "sample " << k;
  }
}

TEST(RewardState, EstimateAddsTheWidthTimesItsBonus) {
  const Data data = random_data(20, 3, 10);
  Estimate estimate(3, 1.5);
  MatrixXd design = 1.5 * MatrixXd::Identity(3, 3);
  for (int k = 0; k < 20; ++k) {
    estimate.state.observe(data.features(k), data.samples.reward[k]);
    design += data.phi(k) * data.phi(k).transpose();
  }
  for (int k = 0; k < 20; ++k) {
    const float* phi = data.features(k);
    const double width = std::sqrt(data.phi(k).dot(design.inverse() * data.phi(k)));
    EXPECT_NEAR(estimate.state.width(phi), width, 1e-12);
    EXPECT_NEAR(estimate.state.linear(phi), estimate.theta().dot(data.phi(k)), 1e-14);
    EXPECT_NEAR(estimate.state.estimate(phi, 0.3), G(estimate.theta().dot(data.phi(k)) + 0.3 * width), 1e-12);
    EXPECT_NEAR(estimate.state.estimate(phi, 0.0), G(estimate.theta().dot(data.phi(k))), 1e-12);
  }
}

}  // namespace
}  // namespace pandora
