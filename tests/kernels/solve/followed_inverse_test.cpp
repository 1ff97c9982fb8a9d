// Compares the inverse that follows its samples' weights with an inverse that is formed anew in double.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "kernels/base/simd.hpp"
#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;

struct Problem {
  int m, stride, n;
  SimdVector<double> psi;
  std::vector<int> rows;
  std::vector<double> unused;

  Problem(int m_, int n_) : m(m_), stride(padded_to_vector<double>(m_)), n(n_), unused(static_cast<std::size_t>(n_)) {
    test::Random random(3);
    psi.assign(static_cast<std::size_t>(n) * stride, 0.0);
    for (int s = 0; s < n; ++s) {
      rows.push_back(n - 1 - s);
      for (int k = 0; k < m; ++k) psi[static_cast<std::size_t>(s) * stride + k] = random.uniform(-1, 1);
    }
  }
  engine::SampleView<double> view() const {
    return {psi.data(), m, stride, rows.data(), unused.data(), unused.data(), n};
  }
  MatrixXd inverse(double ridge, const std::vector<double>& weight) const {
    MatrixXd sum = ridge * MatrixXd::Identity(m, m);
    for (int s = 0; s < n; ++s) {
      const Eigen::Map<const Eigen::VectorXd> x(psi.data() + static_cast<std::size_t>(rows[s]) * stride, m);
      sum += weight[s] * x * x.transpose();
    }
    return sum.inverse();
  }
};

// The view with its memory.
struct Follower {
  SimdVector<double> matrix;
  std::vector<double> weight;
  engine::FollowedInverse<double> view;

  Follower(const Problem& p, double ridge)
      : matrix(static_cast<std::size_t>(p.m) * p.stride, 7.0),
        weight(static_cast<std::size_t>(p.n), 7.0),
        view{matrix.data(), weight.data(), p.m, p.stride, p.n} {
    view.reset(ridge);
  }
  Follower(const Follower&) = delete;
  bool follow(const Problem& p, const std::vector<double>& target, double least) {
    return view.follow(p.view(), target.data(), least);
  }
};

double largest_difference(const Follower& inverse, const MatrixXd& expected, int stride) {
  double largest = 0.0;
  for (int i = 0; i < expected.rows(); ++i)
    for (int k = 0; k < expected.cols(); ++k)
      largest = std::max(largest, std::abs(inverse.matrix[static_cast<std::size_t>(i) * stride + k] - expected(i, k)));
  return largest;
}

// Has 40 samples. First there are several batches of increases, then increases and decreases together.
TEST(FollowedInverse, FollowsWeightsUpAndDown) {
  for (const int m : {1, 7, 16, 33}) {
    const Problem p(m, 40);
    const double ridge = 0.5;
    Follower inverse(p, ridge);
    EXPECT_EQ(largest_difference(inverse, MatrixXd::Identity(m, m) / ridge, p.stride), 0.0);
    test::Random random(5);
    for (int round = 0; round < 4; ++round) {
      std::vector<double> target;
      for (int s = 0; s < p.n; ++s) target.push_back(random.uniform(0, 1) < 0.4 ? 0.0 : random.uniform(0, 1));
      EXPECT_TRUE(inverse.follow(p, target, 0.0));
      EXPECT_EQ(inverse.weight, target) << "m = " << m;
      EXPECT_LT(largest_difference(inverse, p.inverse(ridge, target), p.stride), 1e-12) << "m = " << m;
    }
  }
}

TEST(FollowedInverse, LeavesSmallChangesOutAndSaysSo) {
  const Problem p(5, 6);
  Follower inverse(p, 1.0);
  inverse.follow(p, {0.5, 0.04, 0.5, 0.05, 0.2, 0.0}, 0.05);
  EXPECT_EQ(inverse.weight, (std::vector<double>{0.5, 0.0, 0.5, 0.0, 0.2, 0.0}));
  EXPECT_LT(largest_difference(inverse, p.inverse(1.0, inverse.weight), p.stride), 1e-13);
}

// Taking more out of the sum than it holds would make it indefinite. This is refused, and the weight stays as it was.
TEST(FollowedInverse, RefusesWhatWouldBeIndefinite) {
  const Problem p(3, 2);
  Follower inverse(p, 1e-3);
  inverse.follow(p, {0.5, 0.25}, 0.0);
  const SimdVector<double> before = inverse.matrix;
  EXPECT_FALSE(inverse.follow(p, {-2.0, 0.25}, 0.0));
  EXPECT_EQ(inverse.weight, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(inverse.matrix, before);
}

}  // namespace
}  // namespace pandora
