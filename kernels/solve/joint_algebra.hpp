// Dense algebra of a joint solve, in double and row-major: by a team, and for vectors by Eigen (joint_algebra.cpp).
#pragma once

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

/// The sum of the products of the elements of two rows x n matrices, the same in every member. `terms`: rows of
/// scratch.
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

}  // namespace pandora::engine
