#include "host/lanes/estimator/checks.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "kernels/solve/team_solver.hpp"

namespace pandora {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

TEST(Checks, FiniteNumbersPass) {
  for (const double x : {0.0, -1.0, 1e308, -1e308, 5e-324}) EXPECT_EQ(finite_or_fail(x), x);
  for (const double x : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_FALSE(is_finite(x));
    EXPECT_FALSE(is_finite(static_cast<float>(x)));
    try {
      finite_or_fail(x);
      FAIL() << x;
    } catch (const LaneFailure& failure) {
      EXPECT_EQ(failure.failure(), Failure::not_finite);
      EXPECT_STREQ(failure.what(), failure_text(Failure::not_finite));
    }
  }
}

// Tests every engine's Cholesky factorisation with a bad number at any place of the lower triangle.
TEST(Checks, OnlyPositiveDefiniteMatricesAreFactorised) {
  constexpr int m = 7;
  const auto accepted = [](const Eigen::MatrixXd& matrix) {
    std::vector<double> packed;
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= i; ++k) packed.push_back(matrix(i, k));
    const bool device = engine::factorise(SerialTeam{}, packed.data(), m);
    bool host = true;
    try {
      factorised_or_fail(matrix);
    } catch (const LaneFailure& failure) {
      EXPECT_EQ(failure.failure(), Failure::indefinite);
      host = false;
    }
    EXPECT_EQ(device, host);
    return host;
  };
  const Eigen::MatrixXd sound = 2.0 * Eigen::MatrixXd::Identity(m, m) + Eigen::MatrixXd::Ones(m, m);
  EXPECT_TRUE(accepted(sound));
  for (int i = 0; i < m; ++i)
    for (int k = 0; k <= i; ++k)
      for (const double wrong : {kNaN, kInfinity, i == k ? -1.0 : 10.0}) {
        Eigen::MatrixXd matrix = sound;
        matrix(i, k) = wrong;
        EXPECT_FALSE(accepted(matrix)) << i << " " << k << " " << wrong;
      }
}

}  // namespace
}  // namespace pandora
