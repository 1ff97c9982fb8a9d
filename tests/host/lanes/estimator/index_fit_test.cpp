// Compares the index loss, its derivatives and its minimum with their definitions, by quadrature, differences and
// bisection.
#include "host/lanes/estimator/index_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/reference/index_data.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::random_vector;

struct IndexProblem : test::IndexData {
  auto psi(int s) const {
    return Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(samples.rows[s]), contexts.index_size).cast<double>();
  }
  double z(int s, const VectorXd& rho) const { return psi(s).dot(rho); }
  double objective(double ridge, const VectorXd& rho) const { return index_objective(contexts, samples, ridge, rho); }
  VectorXd gradient(double ridge, const VectorXd& rho, MatrixXd* hessian = nullptr) const {
    VectorXd out;
    index_derivatives(contexts, samples, ridge, rho, out, hessian);
    return out;
  }
};

IndexProblem random_problem(int n, int m, std::uint64_t seed) {
  return {test::random_index_data(n, m, seed)};
}

// Simpson's rule, which is exact enough for smooth functions on short intervals.
double integral(const std::function<double(double)>& f, double from, double to) {
  constexpr int kPieces = 2000;
  const double h = (to - from) / kPieces;
  double sum = f(from) + f(to);
  for (int i = 1; i < kPieces; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * f(from + i * h);
  return sum * h / 3.0;
}

TEST(IndexObjective, IsTheIntegralOfTheMoment) {
  const IndexProblem data = random_problem(25, 4, 1);
  test::Random random(2);
  for (int trial = 0; trial < 10; ++trial) {
    const double ridge = random.uniform(0.0, 2.0);
    const VectorXd rho = random_vector(4, 3.0, random);
    double wanted = 0.5 * ridge * rho.squaredNorm();
    for (int s = 0; s < data.samples.size(); ++s) {
      const double cost = data.samples.cost[s], mu = data.samples.mu[s], z = data.z(s, rho);
      const auto bracket = [&](double u) { return cost - std::max(mu - std::tanh(u), 0.0); };
      const double kink = std::atanh(mu);  // the rule is applied on each side of the kink
      wanted += z <= kink ? integral(bracket, 0.0, z) : integral(bracket, 0.0, kink) + integral(bracket, kink, z);
    }
    EXPECT_NEAR(data.objective(ridge, rho), wanted, 1e-9);
  }
}

TEST(IndexObjective, StaysFiniteForLargeArguments) {
  IndexProblem data = random_problem(1, 1, 3);
  data.samples.mu[0] = 0.4;
  data.samples.cost[0] = 0.1;
  VectorXd rho(1);
  rho[0] = 5000.0;  // beyond the kink the slope is the cost
  const double far = data.objective(0.0, rho);
  rho[0] = 4000.0;
  EXPECT_NEAR(far - data.objective(0.0, rho), 0.1 * 1000.0, 1e-9);
  rho[0] = -5000.0;  // far on the left the slope is c - mu - 1
  const double left = data.objective(0.0, rho);
  rho[0] = -4000.0;
  EXPECT_NEAR(left - data.objective(0.0, rho), -1000.0 * (0.1 - 0.4 - 1.0), 1e-8);
}

TEST(IndexDerivatives, GradientIsTheSlopeOfTheObjective) {
  const IndexProblem data = random_problem(300, 5, 4);  // more samples than one batch
  test::Random random(5);
  for (int trial = 0; trial < 5; ++trial) {
    const VectorXd rho = random_vector(5, 1.0, random), gradient = data.gradient(0.7, rho);
    for (int j = 0; j < 5; ++j) {
      const VectorXd step = 1e-5 * VectorXd::Unit(5, j);
      const double slope = (data.objective(0.7, rho + step) - data.objective(0.7, rho - step)) / 2e-5;
      EXPECT_NEAR(gradient[j], slope, 1e-6);
    }
  }
}

TEST(IndexDerivatives, HessianIsTheSlopeOfTheGradientAwayFromKinks) {
  test::Random random(6);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const IndexProblem data = random_problem(200, 4, 100 + seed);
    const VectorXd rho = random_vector(4, 0.7, random);
    bool near_kink = false;
    for (int s = 0; s < data.samples.size(); ++s)
      near_kink = near_kink || std::abs(data.samples.mu[s] - std::tanh(data.z(s, rho))) < 1e-4;
    if (near_kink) continue;
    ++compared;
    MatrixXd hessian;
    data.gradient(0.5, rho, &hessian);
    for (int j = 0; j < 4; ++j) {
      const VectorXd step = 1e-6 * VectorXd::Unit(4, j);
      const VectorXd slope = (data.gradient(0.5, rho + step) - data.gradient(0.5, rho - step)) / 2e-6;
      for (int i = j; i < 4; ++i) EXPECT_NEAR(hessian(i, j), slope[i], 1e-6);  // the lower triangle
    }
  }
  EXPECT_GE(compared, 5);
}

// Minimises one coordinate at a time, by bisection for the zero of the increasing partial derivative.
VectorXd coordinate_search(const IndexProblem& data, double ridge) {
  const int m = data.contexts.index_size;
  VectorXd rho = VectorXd::Zero(m);
  for (int sweep = 0; sweep < 300; ++sweep) {
    const VectorXd before = rho;
    for (int j = 0; j < m; ++j) {
      std::vector<double> rest;
      for (int s = 0; s < data.samples.size(); ++s) rest.push_back(data.z(s, rho) - rho[j] * data.psi(s)[j]);
      rho[j] = test::bisect(
          [&](double value) {
            double sum = ridge * value;
            for (int s = 0; s < data.samples.size(); ++s) {
              const double psi = data.psi(s)[j];
              sum +=
                  psi * (data.samples.cost[s] - std::max(data.samples.mu[s] - std::tanh(rest[s] + value * psi), 0.0));
            }
            return sum;
          },
          -20.0, 20.0);
    }
    if ((rho - before).norm() < 1e-13) break;
  }
  return rho;
}

// Of random samples, and of those made by hand.
TEST(FitIndex, FindsWhatACoordinateSearchFinds) {
  std::vector<IndexProblem> problems;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    problems.push_back(random_problem(10 + 10 * static_cast<int>(seed), 3, 200 + seed));
  struct ByHand {
    std::vector<std::vector<float>> psi;
    std::vector<double> cost, mu;
  };
  const ByHand all[] = {{{{1.0f, 0.5f, -2.0f}}, {0.1}, {0.8}},                     // one sample
                        {{{1.0f}}, {0.5}, {0.2}},                                  // of a negative index
                        {{{1.0f, 1.0f}, {1.0f, -1.0f}}, {0.05, 0.2}, {0.9, 0.6}},  // orthogonal
                        {{{2.0f}}, {0.1, 0.02, 0.05}, {0.9, 0.8, 0.1}},  // of one context; beyond the kink of the third
                        {{{1.0f, 1.0f}}, {}, {}}};                       // none
  for (const auto& [psi, cost, mu] : all) {
    IndexProblem& one = problems.emplace_back();
    one.contexts = test::contexts_of(psi);
    for (std::size_t s = 0; s < cost.size(); ++s) one.samples.add(static_cast<int>(s % psi.size()), cost[s], mu[s]);
  }
  for (const IndexProblem& data : problems) {
    VectorXd rho = VectorXd::Constant(data.contexts.index_size, 3.0);
    fit_index(data.contexts, data.samples, 0.5, rho);
    EXPECT_LT((rho - coordinate_search(data, 0.5)).norm(), 1e-8) << data.samples.size();
  }
}

TEST(FitIndex, EndsAtAZeroOfTheGradientFromAnyStart) {
  const IndexProblem data = random_problem(400, 6, 9);
  test::Random random(10);
  VectorXd reference = VectorXd::Zero(6);
  fit_index(data.contexts, data.samples, 1.0, reference);
  for (int trial = 0; trial < 20; ++trial) {
    VectorXd rho = random_vector(6, 4.0, random);
    fit_index(data.contexts, data.samples, 1.0, rho);
    EXPECT_LT((rho - reference).norm(), 1e-9);
    EXPECT_LT(data.gradient(1.0, rho).norm(), 1e-7);
  }
}

// The loss has kinks and flat parts. There are few samples, weak and strong ridges, and starts far away.
TEST(FitIndex, ConvergesOnManySmallProblems) {
  test::Random random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const int m = 1 + random.below(6), n = 1 + random.below(40);
    const IndexProblem data = random_problem(n, m, 1000 + static_cast<std::uint64_t>(trial));
    const double ridge = std::pow(10.0, random.uniform(-3.0, 1.0));
    VectorXd rho = random_vector(m, 2.0, random);
    ASSERT_NO_THROW(fit_index(data.contexts, data.samples, ridge, rho)) << "trial " << trial;
    ASSERT_LT(data.gradient(ridge, rho).norm(), 1e-7) << "trial " << trial;
  }
}

}  // namespace
}  // namespace pandora
