// Compares the block's matrix products with triple loops in double, at sizes on both sides of every tile's boundary.
#include "kernels/products/tiles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/simd.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

template <class Real>
class BlockProducts : public testing::Test {
 protected:
  struct Problem {
    int m, stride, B, width;
    SimdVector<Real> P, psi, transposed, u;
    std::vector<const Real*> rows;
  };

  static Problem problem(int m, int B, std::uint64_t seed) {
    test::Random random(seed);
    Problem p{m, padded_to_vector<Real>(m), B, padded_to_vector<Real>(B), {}, {}, {}, {}, {}};
    p.P.assign(static_cast<std::size_t>(m) * p.stride, Real(0));
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= i; ++k)
        p.P[i * p.stride + k] = p.P[k * p.stride + i] = static_cast<Real>(random.uniform(-1, 1));
    p.psi.assign(static_cast<std::size_t>(B) * p.stride, Real(0));
    p.u = p.psi;
    p.transposed.assign(static_cast<std::size_t>(m) * p.width, Real(0));
    for (int j = 0; j < B; ++j)
      for (int k = 0; k < m; ++k) {
        p.psi[j * p.stride + k] = p.transposed[k * p.width + j] = static_cast<Real>(random.uniform(-1, 1));
        p.u[j * p.stride + k] = static_cast<Real>(random.uniform(-1, 1));
      }
    for (int j = 0; j < B; ++j) p.rows.push_back(&p.psi[static_cast<std::size_t>(j) * p.stride]);
    return p;
  }

  // The bound for a sum of n products of numbers below one, each rounded once.
  static double tolerance(int n) { return 2.0 * n * static_cast<double>(std::numeric_limits<Real>::epsilon()); }
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockProducts, Reals);

TYPED_TEST(BlockProducts, ImagesAndGramMatchTripleLoops) {
  for (int m : {1, 5, 16, 31, 33, 65, 101, 129})
    for (int B : {1, 2, 7, 16, 17, 32, 64}) {
      const auto p = this->problem(m, B, 100 * m + B);
      SimdVector<TypeParam> image(p.psi.size()), gram(static_cast<std::size_t>(B) * p.width);
      SimdVector<TypeParam> of_rows(image);
      form_images(p.P.data(), m, p.stride, p.rows.data(), B, of_rows.data());
      form_images(p.P.data(), m, p.stride, p.psi.data(), p.transposed.data(), B, p.width, image.data());
      EXPECT_EQ(image, of_rows) << "m " << m << " B " << B;
      form_gram(image.data(), m, p.stride, p.transposed.data(), B, p.width, gram.data());
      for (int j = 0; j < B; ++j) {
        for (int k = 0; k < m; ++k) {
          double expected = 0.0;
          for (int l = 0; l < m; ++l)
            expected += static_cast<double>(p.P[k * p.stride + l]) * static_cast<double>(p.psi[j * p.stride + l]);
          ASSERT_NEAR(image[j * p.stride + k], expected, this->tolerance(m)) << "m " << m << " B " << B;
        }
        for (int i = j; i < B; ++i) {
          double expected = 0.0;
          for (int k = 0; k < m; ++k)
            expected += static_cast<double>(image[j * p.stride + k]) * static_cast<double>(p.psi[i * p.stride + k]);
          ASSERT_NEAR(gram[j * p.width + i], expected, m * this->tolerance(m)) << "m " << m << " B " << B;
        }
      }
    }
}

TYPED_TEST(BlockProducts, RankUpdateMatchesAndStaysExactlySymmetric) {
  for (int m : {1, 5, 16, 33, 101, 129})
    for (int q : {0, 1, 3, 16, 33}) {
      const auto p = this->problem(m, std::max(q, 1), 7 * m + q);
      for (const UpdateSign sign : {UpdateSign::add, UpdateSign::subtract}) {
        SimdVector<TypeParam> P = p.P;
        rank_update(P.data(), m, p.stride, p.u.data(), q, sign);
        for (int i = 0; i < m; ++i)
          for (int k = 0; k < m; ++k) {
            double expected = p.P[i * p.stride + k];
            for (int l = 0; l < q; ++l)
              expected += (sign == UpdateSign::add ? 1.0 : -1.0) * static_cast<double>(p.u[l * p.stride + i]) *
                          static_cast<double>(p.u[l * p.stride + k]);
            ASSERT_NEAR(P[i * p.stride + k], expected, (q + 1) * this->tolerance(q + 1));
            ASSERT_EQ(P[i * p.stride + k], P[k * p.stride + i]) << "not symmetric at " << i << ", " << k;
          }
      }
    }
}

TYPED_TEST(BlockProducts, ProjectBlockMatchesDotProducts) {
  for (int m : {1, 2, 33, 101})
    for (int B : {1, 16, 33}) {
      const auto p = this->problem(m, B, m + 1000 * B);
      SimdVector<TypeParam> out(static_cast<std::size_t>(p.width));
      project_block(p.transposed.data(), m, p.width, p.u.data(), out.data());
      for (int j = 0; j < B; ++j) {
        double expected = 0.0;
        for (int k = 0; k < m; ++k)
          expected += static_cast<double>(p.psi[j * p.stride + k]) * static_cast<double>(p.u[k]);
        ASSERT_NEAR(out[j], expected, this->tolerance(m));
      }
    }
}

}  // namespace
}  // namespace pandora
