// Compares every way to solve for rho_hat with the reference Newton method, in double and in single precision.
#include "kernels/solve/minimise.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "kernels/rules/index_loss.hpp"
#include "tests/reference/index_data.hpp"
#include "tests/reference/one_box.hpp"

namespace pandora {
namespace {

using Eigen::VectorXd;

constexpr double kRidge = test::OneBox<double>::kRidge;

test::IndexData random_data(int n, int m) {
  return test::random_index_data(n, m, 17);
}

IndexSamples first(const IndexSamples& samples, int n) {
  IndexSamples part;
  for (int s = 0; s < n; ++s) part.add(samples.rows[s], samples.cost[s], samples.mu[s]);
  return part;
}

// The squared Newton decrement of rho, by the true gradient and Hessian. It measures how well rho is solved.
double decrement(const Contexts& contexts, const IndexSamples& samples, const VectorXd& rho) {
  VectorXd gradient;
  Eigen::MatrixXd hessian;
  index_derivatives(contexts, samples, kRidge, rho, gradient, &hessian);
  const Eigen::MatrixXd full = hessian.selfadjointView<Eigen::Lower>();
  return gradient.dot(full.llt().solve(gradient));
}

template <class Real>
class IndexSolves : public ::testing::Test {
 protected:
  static constexpr bool kSingle = std::is_same_v<Real, float>;

  static VectorXd rho_of(test::OneBox<Real>& box, int m) {
    return Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>(box.rho().data(), m).template cast<double>();
  }

  // Solves from far away, and then from the solution of a similar problem, with the state that the first solve has
  // left.
  template <class Team>
  void solve(const Team& team, int n, int m) {
    const test::IndexData data = random_data(n, m);
    test::OneBox<Real> box(data.contexts, data.samples);
    for (int k = 0; k < m; ++k) box.rho()[k] = Real(0.7);
    for (const int count : {(2 * n + 2) / 3, n}) {
      box.use(count);
      ASSERT_TRUE(box.solve(team));
      // The bound allows that rho itself is rounded to single precision.
      EXPECT_LT(decrement(data.contexts, first(data.samples, count), rho_of(box, m)),
                kSingle ? 2e-5 : 10 * index_tolerance(count, kRidge))
          << count << " x " << m;
    }
    EXPECT_LT(box.gradients(), 120);
    VectorXd exact = VectorXd::Zero(m);
    fit_index(data.contexts, data.samples, kRidge, exact);
    EXPECT_LT((rho_of(box, m) - exact).cwiseAbs().maxCoeff(), n > 1000 ? 2e-3 : 2e-4) << n << " x " << m;
  }
};

using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(IndexSolves, Precisions);

// Up to 2,000 samples an inverse follows the weights; above, L-BFGS solves.
TYPED_TEST(IndexSolves, VectorsReachTheMinimum) {
  for (const int n : {1, 3, 40, 700, 1900, 2500, 3100})
    for (const int m : {1, 2, 11, 33}) this->solve(VectorTeam{}, n, m);
}

TYPED_TEST(IndexSolves, OtherTeamsReachTheMinimum) {
  for (const int n : {1, 3, 40, 700, 2500})
    for (const int m : {1, 2, 11, 33}) this->solve(SerialTeam{}, n, m);
}

// A useless preconditioner costs gradients, but the solution is the same.
TYPED_TEST(IndexSolves, QuasiNewtonWithoutAPreconditioner) {
  using Real = TypeParam;
  const test::IndexData data = random_data(600, 9);
  test::OneBox<Real> box(data.contexts, data.samples);
  const VectorTeam team;
  const Ridges ridges(kRidge);
  engine::IndexSums<Real, VectorTeam> sums(team, box.samples(), &ridges, box.scratch());
  sums.start(box.rho().data());
  const auto poor = [](double* x) {
    for (int k = 0; k < 9; ++k) x[k] *= 0.01;
  };
  ASSERT_TRUE(engine::minimise(sums, engine::QuasiNewton(sums, poor)));
  EXPECT_LT(decrement(data.contexts, data.samples, Eigen::Map<VectorXd>(box.scratch().rho, 9)), 1e-4);
}

TYPED_TEST(IndexSolves, DoNotTakeNaNForASolution) {
  const Contexts contexts = test::contexts_of({{1.0f, 0.5f}, {1.0f, -0.25f}});
  for (const bool of_cost : {false, true}) {
    IndexSamples samples;
    samples.add(0, 0.1, 0.8);
    samples.add(1, of_cost ? std::nan("") : 0.2, of_cost ? 0.5 : std::nan(""));
    test::OneBox<TypeParam> box(contexts, samples);
    EXPECT_FALSE(box.solve(VectorTeam{}));
    EXPECT_FALSE(box.solve(SerialTeam{}));
    const VectorTeam team;
    const Ridges ridges(kRidge);
    engine::IndexSums<TypeParam, VectorTeam> sums(team, box.samples(), &ridges, box.scratch());
    EXPECT_FALSE(engine::minimise(sums, engine::QuasiNewton(sums, [](double*) {})));
  }
}

TEST(SecantPart, StaysBetweenATenthAndNineTenths) {
  EXPECT_DOUBLE_EQ(engine::secant_part(-1.0, 1.0), 0.5);
  EXPECT_DOUBLE_EQ(engine::secant_part(-1.0, 1e9), 0.1);
  EXPECT_DOUBLE_EQ(engine::secant_part(-1.0, 0.01), 0.9);
  EXPECT_TRUE(engine::too_long(-1.0, 0.51));
  EXPECT_FALSE(engine::too_long(-1.0, 0.5));
  EXPECT_FALSE(engine::too_long(-1.0, std::nan("")));
}

}  // namespace
}  // namespace pandora
