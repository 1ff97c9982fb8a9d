// The algebra of joint_solve.hpp for the joint fit of all boxes, in vectors of the CPU.
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "kernels/solve/joint_memory.hpp"
#include "kernels/solve/vector_solver.hpp"

namespace pandora::engine {
namespace {

using Matrix = Eigen::Map<RowMajor<double>, 0, Eigen::OuterStride<>>;

Matrix view(Rows rows, int n, int columns) {
  return {rows.at, n, columns, Eigen::OuterStride<>(rows.stride)};
}

// M <- M^-1 by halves. With T = M21 M11^-1 and S = M22 - T M21', M21 becomes -S^-1 T, M22 becomes S^-1, and M11 becomes
// M11^-1 + T' S^-1 T. Nearly all of this is products, which cost a third of triangular solves at this size.
bool invert(Matrix M) {
  constexpr Eigen::Index kSmall = 32;
  const Eigen::Index n = M.rows(), half = n / 2, rest = n - half, stride = M.outerStride();
  if (n <= kSmall) {
    const Eigen::LLT<RowMajor<double>> factor(M);
    if (!is_factor(factor)) return false;
    M = factor.solve(RowMajor<double>::Identity(n, n));
    return true;
  }
  const auto block = [&](Eigen::Index i, Eigen::Index k, Eigen::Index rows, Eigen::Index columns) {
    return Matrix(M.data() + i * stride + k, rows, columns, Eigen::OuterStride<>(stride));
  };
  Matrix first = block(0, 0, half, half), second = block(half, half, rest, rest), lower = block(half, 0, rest, half);
  if (!invert(first)) return false;
  const RowMajor<double> T = lower * first;
  second.noalias() -= T * lower.transpose();
  if (!invert(second)) return false;
  lower.noalias() = -second * T;
  first.noalias() -= T.transpose() * lower;
  block(0, half, half, rest) = lower.transpose();
  return true;
}

}  // namespace

bool invert_symmetric(const VectorTeam&, Rows M, int n, double*) {
  return invert(view(M, n, n));
}

void multiply_vector(const VectorTeam&, Rows M, const double* x, double* out, int rows, int n) {
  Eigen::Map<Eigen::VectorXd>(out, rows).noalias() = view(M, rows, n) * Eigen::Map<const Eigen::VectorXd>(x, n);
}

double dot_matrices(const VectorTeam&, Rows X, Rows Y, int rows, int n, double*) {
  return view(X, rows, n).cwiseProduct(view(Y, rows, n)).sum();
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
