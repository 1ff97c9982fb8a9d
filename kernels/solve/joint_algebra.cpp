#include "kernels/solve/joint_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "kernels/solve/vector_solver.hpp"

namespace pandora::engine {
namespace {

using Matrix = Eigen::Map<RowMajor<double>, 0, Eigen::OuterStride<>>;

Matrix view(Rows rows, int n, int columns) {
  return {rows.at, n, columns, Eigen::OuterStride<>(rows.stride)};
}

}  // namespace

bool invert_symmetric(const VectorTeam&, Rows M, int n, double*) {
  const Eigen::LLT<RowMajor<double>> factor(view(M, n, n));
  if (!is_factor(factor)) return false;
  view(M, n, n) = factor.solve(RowMajor<double>::Identity(n, n));
  return true;
}

void multiply_symmetric(const VectorTeam&, Rows U, Rows S, Rows out, int rows, int n) {
  view(out, rows, n).noalias() = view(U, rows, n) * view(S, n, n);
}

void add_symmetric(const VectorTeam&, double weight, Rows T, Rows U, Rows C, Rows out, int m, int n) {
  Matrix sum = view(out, m, m);
  sum = view(C, m, m);
  sum.triangularView<Eigen::Lower>() += weight * view(T, m, n) * view(U, m, n).transpose();
  sum.triangularView<Eigen::StrictlyUpper>() = sum.transpose();
}

}  // namespace pandora::engine
