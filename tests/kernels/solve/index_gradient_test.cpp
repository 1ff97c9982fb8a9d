// Compares the fused passes over samples with the reference derivatives in double.
#include <gtest/gtest.h>

#include <Eigen/Core>

#include "host/lanes/estimator/index_fit.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/solve/reward_gradient.hpp"
#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

struct GradientProblem {
  Contexts contexts;
  IndexSamples samples;
  Eigen::VectorXd rho;
};

GradientProblem problem(int m, int n, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<std::vector<float>> psi(static_cast<std::size_t>(n),
                                      std::vector<float>(static_cast<std::size_t>(m), 1.0f));
  for (auto& row : psi)
    for (int k = 1; k < m; ++k) row[k] = static_cast<float>(random.uniform(-1, 1));
  GradientProblem p{test::contexts_of(psi), {}, Eigen::VectorXd(m)};
  for (int s = n - 1; s >= 0; --s) {  // rows need no order
    const double mu = random.uniform(0.05, 0.95);
    p.samples.add(s, random.uniform(0.0, 0.2), mu);
  }
  for (int k = 0; k < m; ++k) p.rho[k] = random.uniform(-0.3, 0.3);
  return p;
}

TEST(IndexGradient, MatchesTheReferenceInSinglePrecision) {
  for (const int m : {1, 3, 17, 101, 113, 225})
    for (const int n : {1, 15, 16, 17, 511, 513, 2000}) {
      const GradientProblem p = problem(m, n, 31 * m + n);
      const std::vector<float> cost(p.samples.cost.begin(), p.samples.cost.end()),
          mu(p.samples.mu.begin(), p.samples.mu.end());
      const int stride = p.contexts.index_stride;
      const engine::SampleView<float> view{p.contexts.psi.data(), m,         stride, p.samples.rows.data(),
                                           cost.data(),           mu.data(), n};
      SimdVector<float> rho(static_cast<std::size_t>(stride), 0.0f), C(static_cast<std::size_t>(m) * stride, 0.0f);
      for (int k = 0; k < m; ++k) rho[k] = static_cast<float>(p.rho[k]);
      const Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXf>(rho.data(), m).cast<double>();
      Eigen::VectorXd expected, actual(m);
      Eigen::MatrixXd hessian;
      index_derivatives(p.contexts, p.samples, 0.0, at, expected, &hessian);
      SimdVector<float> weight(static_cast<std::size_t>(n));
      engine::index_gradient(view, rho.data(), actual.data(), weight.data());
      // Up to 512 terms below 1.2 are summed in single precision; z is off by a few rounding errors.
      const double tolerance = 1e-6 * (n + 10);
      EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), tolerance) << "m " << m << " n " << n;
      engine::add_outer(view, weight.data(), C.data());
      for (int i = 0; i < m; ++i)
        for (int k = 0; k <= i; ++k)
          ASSERT_NEAR(C[static_cast<std::size_t>(i) * stride + k], hessian(i, k), 5e-6 * (n + 10)) << i << " " << k;
    }
}

TEST(AddOuter, WithoutWeightsAllAreOne) {
  for (const int n : {1, 63, 64, 65, 130}) {
    const GradientProblem p = problem(17, n, 5);
    const std::vector<float> unused(static_cast<std::size_t>(n));
    const int stride = p.contexts.index_stride;
    const engine::SampleView<float> view{p.contexts.psi.data(), 17, stride, p.samples.rows.data(), unused.data(),
                                         unused.data(),         n};
    SimdVector<double> C(static_cast<std::size_t>(17) * stride, 0.0);
    engine::add_outer<float, double>(view, nullptr, C.data());
    for (int i = 0; i < 17; ++i)
      for (int k = 0; k < 17; ++k) {
        double sum = 0.0;
        for (int s = 0; s < n; ++s)
          sum += static_cast<double>(view.psi_of(s)[i]) * static_cast<double>(view.psi_of(s)[k]);
        ASSERT_NEAR(C[static_cast<std::size_t>(i) * stride + k], sum, 1e-12 * n);
      }
  }
}

TEST(RewardGradient, MatchesSumsInDouble) {
  test::Random random(3);
  for (const int d : {1, 2, 10, 17})
    for (const int n : {1, 15, 16, 17, 1025, 5000}) {
      std::vector<float> memory(engine::RewardTable::size(d, n));
      engine::RewardTable table = engine::RewardTable::over(memory.data(), d, n);
      Eigen::VectorXd theta(d), expected = Eigen::VectorXd::Zero(d), gradient(d);
      Eigen::MatrixXd expected_hessian = Eigen::MatrixXd::Zero(d, d);
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> hessian(d, d);
      for (int i = 0; i < d; ++i) theta[i] = static_cast<float>(random.uniform(-1, 1));
      for (int k = 0; k < n; ++k) {
        Eigen::VectorXf phi(d);
        for (int i = 0; i < d; ++i) phi[i] = static_cast<float>(random.uniform(-1, 1));
        const float reward = random.uniform(0, 1) < 0.5 ? 1.0f : 0.0f;
        table.add(k, phi.data(), reward);
        const double g = 1.0 / (1.0 + std::exp(-theta.dot(phi.cast<double>())));
        expected += (g - reward) * phi.cast<double>();
        expected_hessian += g * (1.0 - g) * phi.cast<double>() * phi.cast<double>().transpose();
      }
      engine::reward_derivatives(table, nullptr, n, theta.data(), gradient.data(), hessian.data());
      const double tolerance = 1e-6 * (10.0 + std::sqrt(static_cast<double>(n)));
      EXPECT_LT((gradient - expected).cwiseAbs().maxCoeff(), tolerance);
      for (int i = 0; i < d; ++i)
        for (int j = 0; j <= i; ++j) EXPECT_NEAR(hessian(i, j), expected_hessian(i, j), 1e-6 * (10 + n));
    }
}

}  // namespace
}  // namespace pandora
