// Both solvers of the fast engine against the reference Newton method, in double and in single precision.
#include "host/index_solver.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "host/index_fit.hpp"
#include "kernels/index_loss.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Eigen::VectorXd;

constexpr double kRidge = 1.0;

struct Data {
  Contexts contexts;
  IndexSamples samples;
};

Data random_data(int n, int m) {
  test::Random random(17);
  std::vector<std::vector<float>> psi;
  IndexSamples samples;
  for (int s = 0; s < n; ++s) {
    psi.push_back({1.0f});
    for (int j = 1; j < m; ++j) psi.back().push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
    samples.add(s, random.uniform(0.0, 0.3), random.uniform(0.02, 0.98));
  }
  return {test::contexts_of(psi), samples};
}

template <class Real>
struct Working {
  SimdVector<Real> psi;
  std::vector<Real> cost, mu;
  SampleView<Real> view;

  explicit Working(const Data& data)
      : psi(data.contexts.psi.begin(), data.contexts.psi.end()),
        cost(data.samples.cost.begin(), data.samples.cost.end()),
        mu(data.samples.mu.begin(), data.samples.mu.end()),
        view{psi.data(), data.contexts.index_size, data.contexts.index_stride, data.samples.rows.data(), cost.data(),
             mu.data(),  data.samples.size()} {}
};

// The squared Newton decrement of rho at the true gradient and Hessian: what "solved" is measured by.
double decrement(const Data& data, const VectorXd& rho) {
  VectorXd gradient;
  Eigen::MatrixXd hessian;
  index_derivatives(data.contexts, data.samples, kRidge, rho, gradient, &hessian);
  const Eigen::MatrixXd full = hessian.selfadjointView<Eigen::Lower>();
  return gradient.dot(full.llt().solve(gradient));
}

template <class Real>
class IndexSolvers : public ::testing::Test {
 protected:
  static constexpr bool kSingle = std::is_same_v<Real, float>;

  // Far from the solution, then from a neighbouring one with the inverse that is left.
  void newton(int n, int m) {
    const Data all = random_data(n, m);
    Data part = all;
    part.samples.rows.resize(static_cast<std::size_t>(n) * 2 / 3);
    WeightedInverse<Real> inverse;
    VectorXd rho = VectorXd::Constant(m, 0.7);
    for (const Data* data : std::initializer_list<const Data*>{&part, &all}) {
      const Working<Real> working(*data);
      if (inverse.matrix.empty()) inverse.reset(m, working.view.stride, kRidge, working.view.n);
      inverse.weight.resize(static_cast<std::size_t>(working.view.n), Real(0));
      const int gradients = solve_index_by_newton(working.view, kRidge, inverse, rho);
      EXPECT_LT(gradients, 60);
      EXPECT_LT(decrement(*data, rho), kSingle ? 1e-7 : 10 * index_tolerance(working.view.n)) << n << " x " << m;
    }
    VectorXd exact = VectorXd::Zero(m);
    fit_index(all.contexts, all.samples, kRidge, exact);
    EXPECT_LT((rho - exact).cwiseAbs().maxCoeff(), 2e-4) << n << " x " << m;
  }

  void quasi_newton(int n, int m) {
    const Data data = random_data(n, m);
    const Working<Real> working(data);
    VectorXd rho = VectorXd::Zero(m);
    SimdVector<Real> zero(static_cast<std::size_t>(working.view.stride), Real(0));
    SimdVector<Real> curvature(static_cast<std::size_t>(m) * working.view.stride, Real(0));
    add_curvature(working.view, zero.data(), curvature.data());
    const int gradients =
        solve_index(working.view, kRidge, factorised(curvature.data(), m, working.view.stride, kRidge), rho);
    EXPECT_LT(gradients, 60);
    EXPECT_LT(decrement(data, rho), kSingle ? 1e-5 : 10 * index_tolerance(n)) << n << " x " << m;
  }
};

using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(IndexSolvers, Precisions);

TYPED_TEST(IndexSolvers, NewtonReachesTheMinimum) {
  for (const int n : {1, 3, 40, 700, 1900})
    for (const int m : {1, 2, 11, 33}) this->newton(n, m);
}

TYPED_TEST(IndexSolvers, QuasiNewtonReachesTheMinimum) {
  for (const int n : {1, 40, 2500})
    for (const int m : {1, 11, 33}) this->quasi_newton(n, m);
}

// A preconditioner that says nothing costs gradients, not the solution.
TYPED_TEST(IndexSolvers, QuasiNewtonWithoutAPreconditioner) {
  const Data data = random_data(600, 9);
  const Working<TypeParam> working(data);
  VectorXd rho = VectorXd::Zero(9);
  solve_index<TypeParam>(
      working.view, kRidge, [](const VectorXd& gradient, VectorXd& direction) { direction = 0.01 * gradient; }, rho);
  EXPECT_LT(decrement(data, rho), 1e-4);
}

}  // namespace
}  // namespace pandora
