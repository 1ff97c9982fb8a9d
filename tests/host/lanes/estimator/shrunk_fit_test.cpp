// The dense fit of all boxes together, compared with finite differences and with the fixed point of its ridges.
#include "host/lanes/estimator/shrunk_fit.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "tests/reference/joint_data.hpp"

namespace pandora {
namespace {

using Dense = test::DenseFit;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::shrunk;

TEST(ShrunkFit, TheGradientIsThatOfTheObjective) {
  const test::JointData data(3, 4, 120, 41);
  Dense fit(data, shrunk(), 0.6);
  test::Random random(2);
  fit.refit();  // so that ridges differ
  for (VectorXd& own : fit.rho)
    for (double& value : own) value += random.uniform(-0.3, 0.3);
  const VectorXd gradient = fit.gradient();
  for (int at = 0; at < 12; ++at) {
    constexpr double kStep = 1e-5;
    double& value = fit.rho[at / 4][at % 4];
    const double before = value;
    value = before + kStep;
    const double above = fit.objective();
    value = before - kStep;
    const double below = fit.objective();
    value = before;
    EXPECT_NEAR(gradient[at], (above - below) / (2 * kStep), 1e-5 * (1 + std::abs(gradient[at])));
  }
}

// The objective of docs/shrinkage.md: a ridge on the mean slope, counted A times, and a ridge on deviations from it.
TEST(ShrunkFit, TheObjectiveIsThatOfMeanAndDeviations) {
  const test::JointData data(4, 5, 100, 42);
  Dense fit(data, shrunk(), 0.6);
  for (int k = 0; k < 3; ++k) fit.refit();
  VectorXd mean = VectorXd::Zero(4);
  for (const VectorXd& own : fit.rho) mean += own.tail(4) / 4;
  double wanted = 0.5 * 4 * fit.fit.state.ridge_mean * mean.squaredNorm();
  for (int a = 0; a < 4; ++a)
    wanted += 0.5 * 0.6 * std::pow(fit.rho[a][0], 2) +
              0.5 * fit.fit.state.ridge_own * (fit.rho[a].tail(4) - mean).squaredNorm() +
              index_objective(data.contexts, data.samples[a], 0.0, fit.rho[a]) / fit.fit.state.dispersion[a];
  EXPECT_NEAR(fit.objective(), wanted, 1e-9 * std::abs(wanted));
}

// The fit starts far away, with dispersions and ridges that stay fixed.
TEST(ShrunkFit, NoStepRaisesTheObjective) {
  LaneSpec spec = shrunk(Shrinkage::fixed);
  spec.joint_steps = 1;
  for (std::uint64_t seed = 50; seed < 80; ++seed) {
    const test::JointData data(3, 6, 80, seed);
    Dense fit(data, spec, 0.5);
    fit.fit.state.samples_at_solve = fit.fit.state.samples;  // so that a refit is not solved to the end
    test::Random random(seed);
    for (VectorXd& own : fit.rho)
      for (double& value : own) value = random.uniform(-2.0, 2.0);
    const JointState start = fit.fit.state;
    for (int k = 0; k < 8; ++k) {
      const double before = fit.objective();
      EXPECT_EQ(fit.refit(), 1);
      fit.fit.state = start;
      EXPECT_LE(fit.objective(), before + 1e-9 * std::abs(before)) << "seed " << seed;
    }
  }
}

// Fits nine tenths of the samples, like a fit without a fold.
TEST(ShrunkFit, FromNearItsEndARefitNeedsFewerSteps) {
  for (std::uint64_t seed = 60; seed < 64; ++seed) {
    const test::JointData all(3, 6, 900, seed);
    test::JointData some = all;
    for (IndexSamples& own : some.samples) {
      const auto kept = static_cast<std::size_t>(own.size() * 9 / 10);
      own.rows.resize(kept);
      own.cost.resize(kept);
      own.mu.resize(kept);
    }
    Dense whole(all, shrunk(), 0.5), cold(some, shrunk(), 0.5), warm(some, shrunk(), 0.5);
    whole.refit();
    warm.rho = whole.rho;
    warm.fit.state.start_at(whole.fit.state);
    const int steps = cold.refit();
    EXPECT_LT(warm.refit(), steps) << "seed " << seed;
    for (int a = 0; a < 3; ++a) EXPECT_LT((warm.rho[a] - cold.rho[a]).norm(), 1e-3 * cold.rho[a].norm());
    EXPECT_NEAR(warm.fit.state.ridge_mean, cold.fit.state.ridge_mean, 1e-2 * cold.fit.state.ridge_mean);
    EXPECT_NEAR(warm.fit.state.ridge_own, cold.fit.state.ridge_own, 1e-2 * cold.fit.state.ridge_own);
  }
}

// g' H^-1 g under the ridges and dispersions at a refit's end.
double decrement(Dense& fit) {
  const VectorXd g = fit.gradient();
  MatrixXd hessian(g.size(), g.size());
  for (Eigen::Index at = 0; at < g.size(); ++at) {
    constexpr double kStep = 1e-6;
    double& value = fit.rho[at / fit.data.m][at % fit.data.m];
    const double before = value;
    value = before + kStep;
    hessian.col(at) = (fit.gradient() - g) / kStep;
    value = before;
  }
  return g.dot(hessian.fullPivLu().solve(g));
}

// Tests few samples, as many samples as parameters, and many samples.
TEST(ShrunkFit, ARefitOfNewSamplesIsSolvedToTheEnd) {
  for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level, Shrinkage::fixed})
    for (const int n : {3, 20, 60, 400}) {
      SCOPED_TRACE("n = " + std::to_string(n));
      const test::JointData data(3, 6, n, 71);
      Dense first(data, shrunk(shrinkage), 0.7);
      EXPECT_GT(first.refit(), 3);  // earlier versions ended there
      EXPECT_LE(decrement(first), 1e-6);
      EXPECT_EQ(first.fit.state.unsolved, 0);
      // With new costs, all samples count as new.
      test::JointData dearer = data;
      for (IndexSamples& own : dearer.samples)
        for (double& cost : own.cost) cost *= 3.0;
      Dense second(dearer, shrunk(shrinkage), 0.7);
      second.fit = first.fit;
      second.rho = first.rho;
      second.fit.state.samples_at_solve = 1;
      second.refit();
      EXPECT_LE(decrement(second), 1e-6);
      EXPECT_EQ(second.fit.state.unsolved, 0);
    }
}

// A refit begins near its end, as online. A refit that ends at its limit of steps is counted.
TEST(ShrunkFit, OtherRefitsEndByTheirToleranceOrAreCounted) {
  const test::JointData data(3, 6, 400, 72);
  LaneSpec spec = shrunk();
  for (const double tolerance : {0.25, 1e-3, 1e-7}) {
    spec.joint_tolerance = tolerance;
    spec.joint_steps = 50;
    Dense fit(data, spec, 0.7);
    fit.refit();
    for (VectorXd& own : fit.rho) own.array() += 0.05;
    ASSERT_FALSE(RefitPlan(spec, fit.fit.state.samples, fit.fit.state.samples_at_solve, 18).whole);
    EXPECT_LT(fit.refit(), 50);
    EXPECT_LE(decrement(fit), tolerance);
    EXPECT_EQ(fit.fit.state.unsolved, 0);
    spec.joint_steps = 1;
    Dense cut(data, spec, 0.7);
    cut.refit();
    for (VectorXd& own : cut.rho) own.array() += 0.5;
    EXPECT_EQ(cut.refit(), 1);
    EXPECT_EQ(cut.fit.state.unsolved, 1);
  }
}

// A first refit ends at a zero of the gradient, with ridges that would not change if they were learned once more. By
// dense algebra: lambda (|r|^2 + 2e-5) = determined + 0.2.
TEST(ShrunkFit, EndsAtTheFixedPointOfItsRidges) {
  const test::JointData data(3, 5, 500, 61);
  Dense fit(data, shrunk(), 1.0);
  fit.refit();
  EXPECT_LT(fit.gradient().norm(), 1e-3);
  VectorXd mean = VectorXd::Zero(4);
  MatrixXd projection = MatrixXd::Zero(4, 15);  // onto the mean slope times sqrt(A)
  double squares = 0.0, trace = 0.0;
  for (int a = 0; a < 3; ++a) {
    mean += fit.rho[a].tail(4) / 3;
    squares += fit.rho[a].tail(4).squaredNorm();
    trace += fit.fit.covariance.block(5 * a + 1, 5 * a + 1, 4, 4).trace();
    projection.block(0, 5 * a + 1, 4, 4) = MatrixXd::Identity(4, 4) / std::sqrt(3.0);
  }
  const double mean_trace = (projection * fit.fit.covariance * projection.transpose()).trace();
  const double lambda_m = fit.fit.state.ridge_mean, lambda_d = fit.fit.state.ridge_own;
  const double mean_square = 3 * mean.squaredNorm();
  EXPECT_NEAR(lambda_m * (mean_square + 2e-5), 4 - lambda_m * mean_trace + 0.2, 5e-2);
  EXPECT_NEAR(lambda_d * (squares - mean_square + 2e-5), 8 - lambda_d * (trace - mean_trace) + 0.2, 5e-2);
}

}  // namespace
}  // namespace pandora
