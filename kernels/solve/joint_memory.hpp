// The memory in which all boxes of a lane are refitted together, and its dense algebra, in double and row-major. Teams
// do the algebra here; for vectors Eigen does it (joint_algebra.cpp).
#pragma once

#include "kernels/solve/samples.hpp"
#include "kernels/solve/team_solver.hpp"

namespace pandora {
struct VectorTeam;  // not for nvcc
}

namespace pandora::engine {

/// A matrix of `rows` rows that lie `stride` elements apart.
struct Rows {
  double* at;
  int stride;
  PANDORA_HD double* operator[](int i) const { return at + static_cast<std::size_t>(i) * stride; }
};

/// M (n x n, symmetric) <- M^-1; false if it is not positive definite. `packed`: n (n + 1) / 2 of scratch.
template <class Team>
PANDORA_HD bool invert_symmetric(const Team& team, Rows M, int n, double* packed) {
  for (int i = team.rank(); i < n; i += team.size())
    for (int k = 0; k <= i; ++k) packed[static_cast<std::size_t>(i) * (i + 1) / 2 + k] = M[i][k];
  team.sync();
  if (!factorise(team, packed, n)) return false;
  invert_factorised(team, packed, n, M.at);
  return true;
}

/// out (rows x n) = U S, with S (n x n) symmetric.
template <class Team>
PANDORA_HD void multiply_symmetric(const Team& team, Rows U, Rows S, Rows out, int rows, int n) {
  for (int at = team.rank(); at < rows * n; at += team.size()) {
    const int i = at / n, k = at % n;
    double sum = 0.0;
    for (int l = 0; l < n; ++l) sum = fused(U[i][l], S[l][k], sum);
    out[i][k] = sum;
  }
  team.sync();
}

/// out (m x m) = C + weight T U', where that is symmetric; T and U are m x n.
template <class Team>
PANDORA_HD void add_symmetric(const Team& team, double weight, Rows T, Rows U, Rows C, Rows out, int m, int n) {
  for (int at = team.rank(); at < m * m; at += team.size()) {
    const int i = at / m, k = at % m;
    if (k > i) continue;
    double sum = 0.0;
    for (int l = 0; l < n; ++l) sum = fused(T[i][l], U[k][l], sum);
    out[i][k] = out[k][i] = fused(weight, sum, C[i][k]);
  }
  team.sync();
}

/// out (rows) = M x; M is rows x n.
template <class Team>
PANDORA_HD void multiply_vector(const Team& team, Rows M, const double* x, double* out, int rows, int n) {
  for (int i = team.rank(); i < rows; i += team.size()) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum = fused(M[i][k], x[k], sum);
    out[i] = sum;
  }
  team.sync();
}

/// The sum of the products of the elements of two rows x n matrices, the same in every member. `terms`: scratch for
/// `rows` numbers.
template <class Team>
PANDORA_HD double dot_matrices(const Team& team, Rows X, Rows Y, int rows, int n, double* terms) {
  for (int i = team.rank(); i < rows; i += team.size()) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum = fused(X[i][k], Y[i][k], sum);
    terms[i] = sum;
  }
  team.sync();
  double sum = 0.0;
  for (int i = 0; i < rows; ++i) sum += terms[i];
  team.sync();
  return sum;
}

// For vectors, by Eigen.
bool invert_symmetric(const VectorTeam& team, Rows M, int n, double* packed);
void multiply_symmetric(const VectorTeam& team, Rows U, Rows S, Rows out, int rows, int n);
void multiply_vector(const VectorTeam& team, Rows M, const double* x, double* out, int rows, int n);
double dot_matrices(const VectorTeam& team, Rows X, Rows Y, int rows, int n, double* terms);
void add_symmetric(const VectorTeam& team, double weight, Rows T, Rows U, Rows C, Rows out, int m, int n);

/// A + 3 (at least five) matrices with room for m x m, vectors, and one more matrix for every group of boxes
/// (SlopeGroups) after the first. A box has n = m - 1 slopes.
class JointMemory {
 public:
  PANDORA_HD JointMemory(double* at, int A, int m) : at_(at), A_(A), m_(m) {}

  /// The number of doubles.
  static PANDORA_HD std::size_t size(int A, int m, int groups = 1) {
    return static_cast<std::size_t>(matrices(A) + groups - 1) * m * m +
           static_cast<std::size_t>(vectors(A)) * padded(m);
  }

  PANDORA_HD int boxes() const { return A_; }
  PANDORA_HD int parameters() const { return m_; }

  PANDORA_HD double* matrix(int which) const { return at_ + static_cast<std::size_t>(which) * m_ * m_; }
  PANDORA_HD Rows rows(int which, int stride) const { return {matrix(which), stride}; }
  PANDORA_HD Rows inverse(int a) const { return {matrix(a), m_}; }     ///< B_a
  PANDORA_HD Rows slopes(int a) const { return {matrix(a) + 1, m_}; }  ///< U_a, m x n
  PANDORA_HD Rows shared() const { return {matrix(A_), m_}; }          ///< W, n x n; then a C_aa
  PANDORA_HD Rows coupling(int group) const {
    return {group == 0 ? matrix(A_ + 1) : vector(vectors(A_)) + static_cast<std::size_t>(group - 1) * m_ * m_, m_ - 1};
  }
  PANDORA_HD Rows product() const { return {matrix(A_ + 2), m_ - 1}; }  ///< m x n
  PANDORA_HD double* rho(int a) const { return vector(a); }
  PANDORA_HD double* moments(int a) const {
    return vector(A_ + a);
  }  ///< sum_s psi_s m_s: the loss's part of a gradient
  PANDORA_HD double* gradient(int a) const { return vector(2 * A_ + a); }
  PANDORA_HD double* direction(int a) const { return vector(3 * A_ + a); }
  PANDORA_HD double* slope_sum() const { return vector(4 * A_); }  ///< sum_a rho_a
  PANDORA_HD double* line() const { return vector(4 * A_ + 1); }
  PANDORA_HD double* shift() const { return vector(4 * A_ + 2); }
  PANDORA_HD double* terms() const { return vector(4 * A_ + 3); }
  PANDORA_HD double* owner() const { return vector(4 * A_ + 8); }  ///< the box of every sample
  // One number for every box:
  PANDORA_HD double* moment_squares() const { return vector(4 * A_ + 4); }
  PANDORA_HD double* curvature() const { return vector(4 * A_ + 5); }
  PANDORA_HD double* determined() const { return vector(4 * A_ + 6); }
  PANDORA_HD double* dispersion() const { return vector(4 * A_ + 7); }  ///< kappa_a after the step

 private:
  static PANDORA_HD constexpr int matrices(int A) { return A > 1 ? A + 3 : 5; }
  static PANDORA_HD constexpr int vectors(int A) { return 4 * A + 9; }
  static PANDORA_HD constexpr std::size_t padded(int m) { return static_cast<std::size_t>(m + 15) / 16 * 16; }
  static_assert(kMaxBoxes <= 16);  // one number for every box fits

  PANDORA_HD double* vector(int which) const { return matrix(matrices(A_)) + which * padded(m_); }

  double* at_;
  const int A_, m_;
};

}  // namespace pandora::engine
