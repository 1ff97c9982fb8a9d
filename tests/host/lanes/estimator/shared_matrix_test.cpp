#include "host/lanes/estimator/shared_matrix.hpp"

#include <gtest/gtest.h>

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd lower_triangle(Eigen::Index n) {
  const MatrixXd root = MatrixXd::Random(n, n);
  return (root * root.transpose()).triangularView<Eigen::Lower>();
}

double form_of(const MatrixXd& lower, const VectorXd& psi) {
  return psi.dot(lower.selfadjointView<Eigen::Lower>() * psi);
}

// Tests also a size whose triangles lie in huge pages, several triangles side by side, and memory that was used before.
TEST(PackedTriangle, HasTheQuadraticFormOfItsMatrix) {
  for (const Eigen::Index n : {0, 1, 5, 385, 5, 385}) {
    std::vector<MatrixXd> matrices;
    std::vector<PackedTriangle> packed;
    for (int k = 0; k < 20; ++k) packed.emplace_back(matrices.emplace_back(lower_triangle(n)));
    for (std::size_t k = 0; k < packed.size(); ++k) {
      const VectorXd psi = VectorXd::Random(n);
      EXPECT_NEAR(packed[k].quadratic_form(psi), form_of(matrices[k], psi), 1e-10 * static_cast<double>(n * n));
    }
  }
}

TEST(SharedMatrix, IsCopiedWhenACopyChangesIt) {
  const MatrixXd before = lower_triangle(7);
  SharedMatrix matrix(before);
  const VectorXd psi = VectorXd::Random(7);
  const SharedMatrix copy = matrix;
  const PackedTriangle packed = matrix.packed();
  matrix.change() *= 2.0;
  EXPECT_EQ(*copy, before);
  EXPECT_DOUBLE_EQ(packed.quadratic_form(psi), form_of(before, psi));
  EXPECT_DOUBLE_EQ(matrix.packed().quadratic_form(psi), 2.0 * form_of(before, psi));
}

}  // namespace
}  // namespace pandora
