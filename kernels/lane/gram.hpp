// The block transform: B rank-one updates of an inverse P = (ridge I + sum h_s psi_s psi_s')^-1 carried on the
// B x B Gram matrix of the block's contexts, and applied to P at the end by one product.
//
// One rule serves the design matrix V (eq:known-theta-V) (h = 1), LinUCB's regression (h = 1, e = p - y) and the
// curvature-weighted inverse of the index loss (h = Lambda'(z) 1{mu > Lambda(z)}, e = m(z)). With P_j the inverse
// before period j, v_j = P_j psi_j, s_j = 1 + h_j psi_j' v_j and f_j = sqrt(h_j / s_j):
//
//   row_j = psi' v_j                    (the current Gram row; columns i >= j)
//   P_{j+1} = P_j - u_j u_j',  u_j = f_j v_j,   C_j = f_j row_j
//   a prediction p_i = psi_i' rho moves by -row_j[i] e_j / s_j when rho moves by -v_j e_j / s_j (one Newton step)
//
// and from the block's start, image_j = P_0 psi_j:
//
//   row_j = gram_j - sum_{i<j} C_i[j] C_i       v_j = image_j - sum_{i<j} C_i[j] u_i
//
// Here i runs over the earlier updated periods. This is the Sherman-Morrison recursion in another order.
// kernels/products/ computes the images, the Gram matrix and the product that applies U U'.
#pragma once

#include <cmath>

#include "kernels/base/assert.hpp"
#include "kernels/products/products.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// Starts a block whose images and Gram matrix are there: no updates yet, and the diagonal psi_j' P psi_j.
template <class Real, class Team>
PANDORA_HD void start_gram(const Team& team, const Shape& shape, const GramView<Real>& g, int B) {
  for (int j = team.rank(); j < B; j += team.size()) g.diagonal[j] = g.gram[j * shape.width + j];
  if (team.rank() == 0) *g.count = {};
  team.sync();
}

/// Whether 0 < psi_j' P psi_j <= psi_j' diag(most) psi_j for all contexts right after start_gram. This holds for the
/// inverse of any matrix that is at least diag(most)^-1. If it is false (also for NaN), the inverse must be computed
/// anew. Every member gets the same answer; g.row is overwritten.
template <class Real, class Team>
PANDORA_HD bool sound_gram(const Team& team, const Shape& shape, const GramView<Real>& g,
                           const BlockContexts<Real>& block, MostInverse<Real> most) {
  for (int j = team.rank(); j < block.B; j += team.size()) {
    Real norm = 0;
    if constexpr (Team::kVectors)
      norm = block.squared_norm[j];
    else
      for (int k = 0; k < shape.m; ++k)
        norm = fused(block.psi[j * block.stride + k], block.psi[j * block.stride + k], norm);
    const Real bound = most.bound(norm, block.psi[j * block.stride]);
    g.row[j] = g.diagonal[j] > Real(0) && g.diagonal[j] <= bound ? Real(1) : Real(0);
  }
  team.sync();
  bool sound = true;
  for (int j = 0; j < block.B; ++j) sound = sound && g.row[j] > Real(0);
  team.sync();
  return sound;
}

/// The update of period j with weight h >= 0, where j must not be below the period of the last update; it is equal to it
/// where a box is opened again. Returns s_j; g.row is then row_j for the columns from j on.
template <class Real, class Team>
PANDORA_HD Real update_gram(const Team& team, const Shape& shape, const GramView<Real>& g, int B, int j, Real h) {
  using V = typename Team::template Vectors<Real>;
  const int width = shape.width, updates = g.count->updates, columns = g.count->columns;
  PANDORA_ASSERT(0 <= j && j < B && B <= shape.B && updates < shape.B);
  PANDORA_ASSERT(updates == 0 || g.log[updates - 1].period <= j);
  const int first = (j / V::width + team.rank()) * V::width, step = team.size() * V::width;
  for (int i = first; i < B; i += step) {
    typename V::Vector row = V::load(g.gram + j * width + i);
    for (int q = 0; q < columns; ++q)
      row = V::fused_negative(V::broadcast(g.column[q * width + j]), V::load(g.column + q * width + i), row);
    V::store(g.row + i, row);
  }
  team.sync();
  const Real s = Real(1) + h * g.row[j];
  const Real f = std::sqrt(h / s);
  if (h > Real(0))
    for (int i = first; i < B; i += step) {
      const typename V::Vector c = V::broadcast(f) * V::load(g.row + i);
      V::store(g.column + columns * width + i, c);
      V::store(g.diagonal + i, V::fused_negative(c, c, V::load(g.diagonal + i)));
    }
  if (team.rank() == 0) {
    g.log[updates] = {j, f, columns};
    g.count->updates = updates + 1;
    if (h > Real(0)) g.count->columns = columns + 1;
  }
  team.sync();
  return s;
}

/// Calls step(k, v, i) for every update k that no earlier call has seen. v is v_k from element i on, in an array of
/// vectors that belongs to the member.
template <class Real, class Team, class Step>
PANDORA_HD void materialise_gram(const Team& team, const Shape& shape, const GramView<Real>& g, Step&& step) {
  using V = typename Team::template Vectors<Real>;
  const int updates = g.count->updates, first = g.count->materialised, width = shape.width, stride = shape.stride;
  PANDORA_ASSERT(stride % V::width == 0 && 0 <= first && first <= updates);
  for_tiles<Real>(team, stride, [&](auto tile, int i) {
    constexpr int N = decltype(tile)::value;
    for (int k = first; k < updates; ++k) {
      const typename GramView<Real>::Update& entry = g.log[k];
      const Real* const image = g.image + entry.period * stride + i;
      typename V::Vector v[N];
      PANDORA_UNROLL
      for (int n = 0; n < N; ++n) v[n] = V::load(image + n * V::width);
      for (int q = 0; q < entry.columns_before; ++q) {
        const typename V::Vector weight = V::broadcast(g.column[q * width + entry.period]);
        const Real* const u = g.u + q * stride + i;
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n) v[n] = V::fused_negative(weight, V::load(u + n * V::width), v[n]);
      }
      if (entry.f > Real(0)) {
        Real* const u = g.u + entry.columns_before * stride + i;
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n) V::store(u + n * V::width, V::broadcast(entry.f) * v[n]);
      }
      step(k, v, i);
    }
  });
  team.sync();
  if (team.rank() == 0) g.count->materialised = updates;
  team.sync();
}

/// P -= U U' over all updates of the block.
template <class Real, class Team>
PANDORA_HD void apply_gram(const Team& team, const Shape& shape, const GramView<Real>& g) {
  if (g.count->materialised < g.count->updates) materialise_gram(team, shape, g, [](int, const auto&, int) {});
  subtract_outer(team, shape, g.P, g.u, g.count->columns);
}

}  // namespace pandora::engine
