// The yardstick that is told how the environments are made, and the surfaces that it learns.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns inside its own AVX-512 header (GCC bug 105593)
#endif
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "experiments/rivals/learned_surface.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

struct Regression {
  Eigen::MatrixXd psi;  // n x m
  Eigen::VectorXd y;

  Regression(int n, int m, const Eigen::VectorXd& truth, double noise, std::uint64_t seed) : psi(n, m), y(n) {
    test::Random random(seed);
    for (int i = 0; i < n; ++i) {
      psi(i, 0) = 1.0;
      for (int j = 1; j < m; ++j) psi(i, j) = random.uniform(-1.0, 1.0);
      y[i] = psi.row(i).dot(truth) + noise * random.uniform(-1.0, 1.0);
    }
  }
  rivals::LearnedSurface surface() const {
    rivals::LearnedSurface out(static_cast<int>(psi.cols()));
    for (int i = 0; i < psi.rows(); ++i) out.add(psi.row(i), y[i]);
    return out;
  }
  Eigen::MatrixXd gram() const { return psi.transpose() * psi; }
};

// Computes the Bayesian posterior by least squares, on the rows psi / sqrt(variance) and on a row sqrt(ridge) for each
// slope. The fit's ridge and variance must be a fixed point of the evidence's equations.
TEST(LearnedSurface, StandsAtTheFixedPointOfItsEvidence) {
  const int n = 200, m = 7;
  Eigen::VectorXd truth(m);
  truth << 0.5, 0.3, -0.2, 0.1, 0.0, 0.4, -0.3;
  const Regression data(n, m, truth, 0.5, 3);
  rivals::LearnedSurface surface = data.surface();
  for (int k = 0; k < 50; ++k) surface.fit(data.gram());

  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(n + m - 1, m);
  rows.topRows(n) = data.psi / std::sqrt(surface.variance());
  rows.bottomRightCorner(m - 1, m - 1).diagonal().setConstant(std::sqrt(surface.ridge()));
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n + m - 1);
  right.head(n) = data.y / std::sqrt(surface.variance());
  const Eigen::MatrixXd precision = rows.transpose() * rows;
  Eigen::MatrixXd covariance(m, m);
  for (int k = 0; k < m; ++k) covariance.col(k) = precision.ldlt().solve(Eigen::VectorXd::Unit(m, k));
  const Eigen::VectorXd wanted = covariance * (rows.transpose() * right);
  EXPECT_LT((surface.coefficients() - wanted).norm(), 1e-9);
  const double determined = m - 1 - surface.ridge() * covariance.diagonal().tail(m - 1).sum();
  EXPECT_NEAR(surface.ridge(), (determined + 0.2) / (wanted.tail(m - 1).squaredNorm() + 2e-5), 1e-6 * surface.ridge());
  EXPECT_NEAR(surface.variance(), (data.y - data.psi * wanted).squaredNorm() / (n - 1 - determined), 1e-9);
}

TEST(LearnedSurface, OfValuesThatDoNotDependOnTheContextIsTheirMean) {
  const int m = 30;
  Eigen::VectorXd truth = Eigen::VectorXd::Zero(m);
  truth[0] = 0.7;
  const Regression data(60, m, truth, 0.5, 4);
  rivals::LearnedSurface surface = data.surface();
  for (int k = 0; k < 20; ++k) surface.fit(data.gram());
  EXPECT_LT(surface.coefficients().tail(m - 1).norm(), 0.01);  // without a ridge it would be 0.3
  EXPECT_NEAR(surface.coefficients()[0], data.y.mean(), 0.01);

  const Regression exact(3, m, truth, 0.0, 5);  // like a cost in regime A
  surface = exact.surface();
  surface.fit(exact.gram());
  EXPECT_NEAR(surface.coefficients()[0], 0.7, 1e-3);
}

TEST(LearnedSurface, ForgetsSamples) {
  const Regression first(40, 4, Eigen::VectorXd::Ones(4), 0.1, 6), second(30, 4, Eigen::VectorXd::Zero(4), 0.1, 7);
  rivals::LearnedSurface surface = first.surface(), fresh = second.surface();
  surface.forget();
  for (int i = 0; i < second.psi.rows(); ++i) surface.add(second.psi.row(i), second.y[i]);
  for (int k = 0; k < 50; ++k) surface.fit(second.gram()), fresh.fit(second.gram());
  EXPECT_LT((surface.coefficients() - fresh.coefficients()).norm(), 1e-9);
}

// A fit of thousands of features takes minutes. So it looks at the flag between panels of columns.
TEST(LearnedSurface, FitsEndWhenTheRunIsInterrupted) {
  constexpr int m = 300;
  rivals::LearnedSurface surface(m);
  test::Random random(5);
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(m, m);
  for (int i = 0; i < 40; ++i) {
    Eigen::VectorXd psi(m);
    for (int j = 0; j < m; ++j) psi[j] = j == 0 ? 1.0 : random.uniform(-1.0, 1.0);
    gram += psi * psi.transpose();
    surface.add(psi, random.uniform(0.0, 1.0));
  }
  std::atomic<bool> flag{true};
  const InterruptOfLane interrupt(&flag);
  try {
    surface.fit(gram);
    ADD_FAILURE() << "ran on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
  }
  flag = false;
  surface.fit(gram);
  // Another test checks the fixed point of the evidence. This one checks that the panels together make a solve.
  Eigen::MatrixXd precision = gram / surface.variance();
  precision.diagonal().tail(m - 1).array() += surface.ridge();
  EXPECT_LT((precision * surface.coefficients()).norm(), 1e6);
  EXPECT_TRUE(surface.coefficients().allFinite());
}

// After a long calibration its indices are the oracle's, except for the part that no plane can express. In each regime,
// its regret over three replications must be below a fifth of DOW's.
TEST(InformedWeitzman, HasAFractionOfTheRegretOfDow) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    double informed = 0.0, dow = 0.0;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const Replication replication =
          test::small_replication(test::small_dimensions(3, 10, 3), regime, 900, 2000, 61, k);
      const EstimationOptions options{parse_refit("geometric:1.5")};
      const auto utility_of_rules = [&](const char* policy) {
        const LaneSpec rules = find_policy(policy)->variants({0.1})[0].lane(replication, 900);
        return run_reference_lane(replication, rules, options).utility;
      };
      const PolicyVariant variant = find_policy("informed_weitzman")->variants({})[0];
      EXPECT_EQ(variant.reward, "known");
      const LaneTally tally = run_custom_lane(replication, *variant.custom(replication, 900, options), 900);
      EXPECT_EQ(tally.failure, Failure::none);
      const double oracle = utility_of_rules("oracle");
      informed += oracle - tally.utility;
      dow += oracle - utility_of_rules("dow");
    }
    EXPECT_LT(informed, 0.2 * dow) << (regime == Regime::A ? "A" : "B");
  }
}

// At first there is one sample for each box, from x_0. So it opens every box until the box has ten samples.
TEST(InformedWeitzman, StartsWithoutACalibration) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 10, 3), Regime::B, 0, 300, 62);
  const PolicyVariant variant = find_policy("informed_weitzman")->variants({})[0];
  for (const char* schedule : {"geometric:1.1", "every:10"}) {
    const LaneTally tally = run_custom_lane(replication, *variant.custom(replication, 0, {parse_refit(schedule)}), 0);
    EXPECT_EQ(tally.failure, Failure::none);
    for (int a = 0; a < 3; ++a) EXPECT_GE(tally.queries_of_box[a], 9) << schedule;
  }
}

}  // namespace
}  // namespace pandora
