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
  Tape tape;
  RewardSamples samples;
  VectorXd phi(int k) const {
    const int d = tape.contexts.reward_features;
    return Eigen::Map<const Eigen::VectorXf>(tape.phi_of(k, 0), d).cast<double>();
  }
};

Data random_data(int n, int d, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<std::vector<float>> phi(static_cast<std::size_t>(n));
  Data data;
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < d; ++j) phi[k].push_back(static_cast<float>(random.uniform(-2.0, 2.0)));
    data.samples.at.push_back(static_cast<std::size_t>(k));
    data.samples.reward.push_back(random.uniform(0.0, 1.0) < 0.6 ? 1.0 : 0.0);
  }
  data.tape = test::tape_of_features(phi);
  return data;
}

TEST(FitReward, BalancesResidualsAgainstTheRidge) {
  for (const double ridge : {0.05, 1.0, 7.0})
    for (const int n : {1, 3, 40, 700}) {
      const Data data = random_data(n, 4, static_cast<std::uint64_t>(n));
      Estimate estimate(4, ridge);
      fit_reward(data.tape, data.samples, ridge, estimate.state);
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
  fit_reward(data.tape, data.samples, 1.0, near.state);
  fit_reward(data.tape, data.samples, 1.0, far.state);
  EXPECT_LT((near.theta() - far.theta()).norm(), 1e-8);
}

TEST(FitReward, RebuildsTheCurvatureAtTheSolutionAndLeavesTheDesignAlone) {
  const Data data = random_data(50, 3, 6);
  Estimate estimate(3, 0.5);
  estimate.state.design_inverse[1] = 123.0;
  fit_reward(data.tape, data.samples, 0.5, estimate.state);
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
  std::vector<std::vector<float>> few, full;
  RewardSamples samples;
  for (int k = 0; k < 60; ++k) {
    VectorXd phi = VectorXd::Zero(8);
    phi[2 * (k % 4)] = 1.0;
    phi[2 * (k % 4) + 1] = std::round(random.uniform(-128.0, 128.0)) / 64.0;  // so that H phi is a float
    const VectorXd dense = H * phi;
    few.emplace_back(phi.data(), phi.data() + 8);
    full.emplace_back(dense.data(), dense.data() + 8);
    samples.at.push_back(static_cast<std::size_t>(k));
    samples.reward.push_back(random.uniform(0.0, 1.0) < 0.6 ? 1.0 : 0.0);
    samples.weight.push_back(random.uniform(0.2, 1.0));
  }
  const Tape sparse = test::tape_of_features(few), dense = test::tape_of_features(full);
  for (const double radius : {0.0, 0.4}) {
    Estimate own(8, 0.5), turned(8, 4.0);
    fit_reward(sparse, samples, 0.5, own.state, radius);
    fit_reward(dense, samples, 4.0, turned.state, radius / std::sqrt(8.0));
    if (radius > 0.0) {
      EXPECT_NEAR(own.theta().norm(), radius, 1e-9);
    }
    EXPECT_LT((H * own.theta() / 8.0 - turned.theta()).norm(), 1e-7) << radius;
    EXPECT_LT((H * own.curvature_inverse() * H.transpose() / 64.0 - turned.curvature_inverse()).norm(), 1e-7);
  }
}

// The solution is theta = k phi with r - G(k |phi|^2) = ridge k.
TEST(FitReward, SolvesOneSampleByHand) {
  Data data;
  data.tape = test::tape_of_features({{1.0f, -2.0f}});
  data.samples = {{0}, {1.0}};
  Estimate estimate(2, 0.4);
  fit_reward(data.tape, data.samples, 0.4, estimate.state);
  const double k = test::bisect([](double value) { return 0.4 * value - (1.0 - G(5.0 * value)); }, -10.0, 10.0);
  EXPECT_NEAR(estimate.theta()[0], k, 1e-9);
  EXPECT_NEAR(estimate.theta()[1], -2.0 * k, 1e-9);
}

TEST(FitReward, BalancesThreeSamplesOfOneFeature) {
  Data data;
  data.tape = test::tape_of_features({{1.0f}, {2.0f}, {-1.0f}});
  data.samples = {{0, 1, 2}, {1.0, 0.0, 0.0}};
  Estimate estimate(1, 0.2);
  fit_reward(data.tape, data.samples, 0.2, estimate.state);
  const double theta = test::bisect(
      [](double t) { return 0.2 * t - (1.0 - G(t)) - 2.0 * (0.0 - G(2.0 * t)) + (0.0 - G(-t)); }, -20.0, 20.0);
  EXPECT_NEAR(estimate.theta()[0], theta, 1e-9);
}

TEST(FitReward, UsesTheSamplesThatAreNamed) {
  Data data = random_data(10, 2, 8);
  Data two;
  two.tape = test::tape_of_features({{data.tape.phi[14], data.tape.phi[15]}, {data.tape.phi[4], data.tape.phi[5]}});
  two.samples = {{0, 1}, {1.0, 0.0}};
  Estimate from_all(2, 1.0), from_two(2, 1.0);
  fit_reward(data.tape, {{7, 2}, {1.0, 0.0}}, 1.0, from_all.state);
  fit_reward(two.tape, two.samples, 1.0, from_two.state);
  EXPECT_LT((from_all.theta() - from_two.theta()).norm(), 1e-12);
}

// At theta_hat = 0, G is 1/2 with the weight 1/4. So theta moves by (ridge I + phi phi'/4)^-1 phi (r - 1/2).
TEST(RewardState, FirstStepByHand) {
  const float phi[2] = {1.0f, 2.0f};
  Estimate up(2, 1.0), down(2, 2.0);
  up.state.observe(phi, 1.0);  // (I + phi phi'/4)^-1 phi = phi / (1 + 5/4)
  EXPECT_NEAR(up.state.theta[0], 0.5 / 2.25, 1e-14);
  EXPECT_NEAR(up.state.theta[1], 1.0 / 2.25, 1e-14);
  down.state.observe(phi, 0.0);  // (2 I + phi phi'/4)^-1 phi = phi / (2 + 5/4)
  EXPECT_NEAR(down.state.theta[0], -0.5 / 3.25, 1e-14);
  EXPECT_NEAR(down.state.theta[1], -1.0 / 3.25, 1e-14);
}

TEST(RewardState, CarriesBothInversesAndTheStepsOfEachSample) {
  const Data data = random_data(200, 4, 9);
  Estimate estimate(4, 0.7);
  MatrixXd design = 0.7 * MatrixXd::Identity(4, 4), curvature = design;
  VectorXd theta = VectorXd::Zero(4);
  for (int k = 0; k < 200; ++k) {
    estimate.state.observe(data.tape.phi_of(k, 0), data.samples.reward[k]);
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
    estimate.state.observe(data.tape.phi_of(k, 0), data.samples.reward[k]);
    design += data.phi(k) * data.phi(k).transpose();
  }
  for (int k = 0; k < 20; ++k) {
    const float* phi = data.tape.phi_of(k, 0);
    const double width = std::sqrt(data.phi(k).dot(design.inverse() * data.phi(k)));
    EXPECT_NEAR(estimate.state.width(phi), width, 1e-12);
    EXPECT_NEAR(estimate.state.linear(phi), estimate.theta().dot(data.phi(k)), 1e-14);
    EXPECT_NEAR(estimate.state.estimate(phi, 0.3), G(estimate.theta().dot(data.phi(k)) + 0.3 * width), 1e-12);
    EXPECT_NEAR(estimate.state.estimate(phi, 0.0), G(estimate.theta().dot(data.phi(k))), 1e-12);
  }
}

}  // namespace
}  // namespace pandora
