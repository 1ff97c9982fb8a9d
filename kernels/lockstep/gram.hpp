// The block transform (kernels/gram_block.hpp) for teams: the same recursion, elements among the members.
#pragma once

#include <cmath>

#include "kernels/lockstep/state.hpp"

namespace pandora::lockstep {

enum GramCount { kUpdates = 0, kColumns = 1, kMaterialised = 2, kGramCounts = 3 };

/// Starts a block whose images and Gram matrix are there: no updates, and the diagonal.
template <class Real, class Team>
PANDORA_HD void start_gram(const Team& team, const GramView<Real>& g, int B, int capacity_B) {
  for (int j = team.rank(); j < B; j += team.size()) g.diagonal[j] = g.gram[j * capacity_B + j];
  for (int k = team.rank(); k < kGramCounts; k += team.size()) g.count[k] = 0;
  team.sync();
}

/// Images and Gram matrix of `B` contexts (rows of `stride` from `psi` on), and start_gram. What the backend's batched
/// product does for all matrices at once at the start of a block.
template <class Real, class Team>
PANDORA_HD void form_gram(const Team& team, const Shape& shape, const GramView<Real>& g, const Real* psi, int B) {
  const int m = shape.m, stride = shape.stride;
  for (int at = team.rank(); at < B * stride; at += team.size()) {
    const Real* x = psi + at / stride * stride;
    const int k = at % stride;
    Real sum = 0;
    for (int l = 0; l < m; ++l) sum = fused(g.P[l * stride + k], x[l], sum);
    g.image[at] = sum;
  }
  team.sync();
  for (int at = team.rank(); at < B * B; at += team.size()) {
    const int j = at / B, i = at % B;
    if (i < j) continue;
    Real sum = 0;
    for (int k = 0; k < m; ++k) sum = fused(g.image[j * stride + k], psi[i * stride + k], sum);
    g.gram[j * shape.B + i] = sum;
  }
  team.sync();
  start_gram(team, g, B, shape.B);
}

/// Whether all widths are possible ones; see GramBlock::sound. Every member finds the same; g.row is overwritten.
template <class Real, class Team>
PANDORA_HD bool sound_gram(const Team& team, const Shape& shape, const GramView<Real>& g, const Real* psi, int B,
                           Real factor) {
  for (int j = team.rank(); j < B; j += team.size()) {
    Real norm = 0;
    for (int k = 0; k < shape.m; ++k) norm = fused(psi[j * shape.stride + k], psi[j * shape.stride + k], norm);
    g.row[j] = g.diagonal[j] > Real(0) && g.diagonal[j] <= factor * norm ? Real(1) : Real(0);
  }
  team.sync();
  bool sound = true;
  for (int j = 0; j < B; ++j) sound = sound && g.row[j] > Real(0);
  team.sync();
  return sound;
}

/// The update of period j with weight h; returns s_j, and leaves row_j in g.row for columns i >= j.
template <class Real, class Team>
PANDORA_HD Real update_gram(const Team& team, const Shape& shape, const GramView<Real>& g, int B, int j, Real h) {
  const int updates = g.count[kUpdates], columns = g.count[kColumns];
  for (int i = j + team.rank(); i < B; i += team.size()) {
    Real row = g.gram[j * shape.B + i];
    for (int q = 0; q < columns; ++q) row = fused(-g.column[q * shape.B + j], g.column[q * shape.B + i], row);
    g.row[i] = row;
  }
  team.sync();
  const Real s = Real(1) + h * g.row[j];
  const Real f = ::sqrt(h / s);
  if (h > Real(0))
    for (int i = j + team.rank(); i < B; i += team.size()) {
      const Real c = f * g.row[i];
      g.column[columns * shape.B + i] = c;
      g.diagonal[i] = fused(-c, c, g.diagonal[i]);
    }
  if (team.rank() == 0) {
    g.log[updates] = {j, f, columns};
    g.count[kUpdates] = updates + 1;
    if (h > Real(0)) g.count[kColumns] = columns + 1;
  }
  team.sync();
  return s;
}

/// step(k, v_k, i) for every update k not seen before and every element i, from the member that owns element i.
template <class Real, class Team, class Step>
PANDORA_HD void materialise_gram(const Team& team, const Shape& shape, const GramView<Real>& g, Step&& step) {
  const int updates = g.count[kUpdates], first = g.count[kMaterialised];
  for (int i = team.rank(); i < shape.stride; i += team.size())
    for (int k = first; k < updates; ++k) {
      const typename GramView<Real>::Update& entry = g.log[k];
      Real v = g.image[entry.period * shape.stride + i];
      for (int q = 0; q < entry.columns_before; ++q)
        v = fused(-g.column[q * shape.B + entry.period], g.u[q * shape.stride + i], v);
      if (entry.f > Real(0)) g.u[entry.columns_before * shape.stride + i] = entry.f * v;
      step(k, v, i);
    }
  team.sync();
  if (team.rank() == 0) g.count[kMaterialised] = updates;
  team.sync();
}

/// P -= U U' over all columns, in tiles of T x T. P stays exactly symmetric: both elements of a pair see the same
/// products in the same order. All u must be there.
template <class Real, class Team>
PANDORA_HD void apply_gram(const Team& team, const Shape& shape, const GramView<Real>& g) {
  constexpr int T = 4;
  const int columns = g.count[kColumns], m = shape.m, stride = shape.stride, tiles = (m + T - 1) / T;
  for (int tile = team.rank(); tile < tiles * tiles; tile += team.size()) {
    const int i0 = tile / tiles * T, k0 = tile % tiles * T;
    Real sum[T][T];
    for (int r = 0; r < T; ++r)
      for (int c = 0; c < T; ++c) sum[r][c] = i0 + r < m ? g.P[(i0 + r) * stride + k0 + c] : Real(0);
    for (int q = 0; q < columns; ++q) {
      const Real* u = g.u + q * stride;
      Real a[T], b[T];
      for (int r = 0; r < T; ++r) {
        a[r] = u[i0 + r];
        b[r] = u[k0 + r];
      }
      for (int r = 0; r < T; ++r)
        for (int c = 0; c < T; ++c) sum[r][c] = fused(-a[r], b[c], sum[r][c]);
    }
    // Columns from m on hold zeros and stay zero: u is zero there.
    for (int r = 0; r < T && i0 + r < m; ++r)
      for (int c = 0; c < T; ++c) g.P[(i0 + r) * stride + k0 + c] = sum[r][c];
  }
  team.sync();
}

}  // namespace pandora::lockstep
