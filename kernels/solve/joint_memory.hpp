// What a refit of all boxes of a lane together works in.
#pragma once

#include "kernels/solve/joint_algebra.hpp"
#include "kernels/solve/samples.hpp"

namespace pandora::engine {

/// A + 3 matrices with room for m x m, at least five, and vectors. n = m - 1 slopes of a box.
class JointMemory {
 public:
  PANDORA_HD JointMemory(double* at, int A, int m) : at_(at), A_(A), m_(m) {}

  /// Doubles that it takes.
  static PANDORA_HD std::size_t size(int A, int m) {
    return static_cast<std::size_t>(matrices(A)) * m * m + (4 * static_cast<std::size_t>(A) + kVectors) * padded(m);
  }

  PANDORA_HD int boxes() const { return A_; }
  PANDORA_HD int parameters() const { return m_; }

  PANDORA_HD double* matrix(int which) const { return at_ + static_cast<std::size_t>(which) * m_ * m_; }
  PANDORA_HD Rows rows(int which, int stride) const { return {matrix(which), stride}; }
  PANDORA_HD Rows inverse(int a) const { return {matrix(a), m_}; }     ///< B_a
  PANDORA_HD Rows slopes(int a) const { return {matrix(a) + 1, m_}; }  ///< U_a, m x n
  PANDORA_HD Rows shared() const { return {matrix(A_), m_}; }          ///< W, n x n; then a C_aa
  PANDORA_HD Rows coupling() const { return {matrix(A_ + 1), m_ - 1}; }
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
  PANDORA_HD double* owner() const { return vector(4 * A_ + 8); }  ///< of every sample, its box
  // One of every box:
  PANDORA_HD double* moment_squares() const { return vector(4 * A_ + 4); }
  PANDORA_HD double* curvature() const { return vector(4 * A_ + 5); }
  PANDORA_HD double* determined() const { return vector(4 * A_ + 6); }
  PANDORA_HD double* dispersion() const { return vector(4 * A_ + 7); }  ///< what kappa_a becomes after the step

 private:
  static constexpr int kVectors = 9;
  static PANDORA_HD constexpr int matrices(int A) { return A > 1 ? A + 3 : 5; }
  static PANDORA_HD constexpr std::size_t padded(int m) { return static_cast<std::size_t>(m + 15) / 16 * 16; }
  static_assert(kMaxBoxes <= 16);  // a number of every box fits

  PANDORA_HD double* vector(int which) const { return matrix(matrices(A_)) + which * padded(m_); }

  double* at_;
  const int A_, m_;
};

/// P (m x m, rows of `stride`) = C in full, of which the lower triangle is read.
template <class Real, class Team>
PANDORA_HD void store_symmetric(const Team& team, Rows C, int m, Real* P, int stride) {
  for (int at = team.rank(); at < m * m; at += team.size()) {
    const int i = at / m, k = at % m;
    P[i * stride + k] = static_cast<Real>(k <= i ? C[i][k] : C[k][i]);
  }
  team.sync();
}

}  // namespace pandora::engine
