// A Cholesky factor in the tiles of a team's memory, and solves with it.
#pragma once

#include "kernels/base/elementary.hpp"
#include "kernels/products/square_tiles.hpp"
#include "kernels/solve/tile_memory.hpp"

namespace pandora::engine {

/// By a team; every function ends with all members done. L overwrites the Hessian in TileMemory.
template <class Real, class Team>
class TiledFactor {
 public:
  PANDORA_HD TiledFactor(const Team& team, const TileMemory<Real>& memory, int m)
      : team_(team), memory_(memory), m_(m), width_(memory.width()) {}

  /// Replaces the Hessian by L, and computes L^-1 right in `solved` along the way. False if it is not positive
  /// definite.
  PANDORA_HD bool factorise() const {
    for (int k = 0; k < memory_.panels(); ++k)  // loop: factor panel
      if (!factorise_panel(k)) return false;
    return true;
  }
  /// solved = L^-1 right; overwrites `right`. Takes eight elements at a time and updates those after them.
  PANDORA_HD void substitute_forward() const {
    for (int k = 0; k < memory_.panels(); ++k) {  // loop: forward panel
      Real L[kSide][kSide], y[kSide];
      load(memory_.factor(k), L);
      load(memory_.right(k), y);
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) {
        y[c] *= L[c][c];
        PANDORA_UNROLL
        for (int i = c + 1; i < kSide; ++i) y[i] = fused(-L[i][c], y[c], y[i]);
      }
      for (int i = (k + 1) * kSide + team_.rank(); i < width_; i += team_.size()) {
        Real row[kSide], value = memory_.right(0)[i];
        load(memory_.tile(i / kSide, k) + i % kSide * kSide, row);
        PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c) value = fused(-row[c], y[c], value);
        memory_.right(0)[i] = value;
      }
      if (team_.rank() == team_.size() - 1) store(memory_.solved(k), y);
      team_.sync();
    }
  }
  /// direction = L'^-1 solved; overwrites `solved`. Takes eight elements at a time and updates those before them.
  PANDORA_HD void substitute_back() const {
    for (int k = memory_.panels() - 1; k >= 0; --k) {  // loop: back panel
      Real L[kSide][kSide], x[kSide];
      load(memory_.factor(k), L);
      load(memory_.solved(k), x);
      PANDORA_UNROLL
      for (int c = kSide - 1; c >= 0; --c) {
        x[c] *= L[c][c];
        PANDORA_UNROLL
        for (int i = 0; i < c; ++i) x[i] = fused(-L[c][i], x[c], x[i]);
      }
      for (int i = team_.rank(); i < k * kSide; i += team_.size()) {
        const Real* const column = memory_.tile(k, i / kSide) + i % kSide;
        Real value = memory_.solved(0)[i];
        PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c) value = fused(-column[c * kSide], x[c], value);
        memory_.solved(0)[i] = value;
      }
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c)
        if (c % team_.size() == team_.rank() && k * kSide + c < m_)
          memory_.direction()[k * kSide + c] = static_cast<double>(x[c]);
      team_.sync();
    }
  }

 private:
  static constexpr int kSide = kTileSide;

  // Computes columns 8 k to 8 k + 7 of the factor and of the right-hand side, and updates the columns after them:
  //   L_kk L_kk' = H_kk,  L_ik = H_ik L_kk'^-1,  H_ij -= L_ik L_jk',  k < j <= i,
  // Every member factorises the tile on the diagonal for itself, so that nobody waits for another member. Then each has
  // a row of the other tiles in the panel, and then half a tile of the rest. The first part is slow because every
  // column needs the one before it, so a column is scaled by an inverse root that is found without division.
  PANDORA_HD bool factorise_panel(int k) const {
    Real L[kSide][kSide], inverse[kSide], y[kSide];
    bool positive = true;
    load(memory_.tile(k, k), L);
    load(memory_.right(k), y);
    PANDORA_UNROLL
    for (int c = 0; c < kSide; ++c) {
      positive = positive && L[c][c] > Real(0) && is_finite(L[c][c]);
      inverse[c] = reciprocal_root(L[c][c]);
      y[c] *= inverse[c];
      PANDORA_UNROLL
      for (int i = c + 1; i < kSide; ++i) L[i][c] *= inverse[c];
      PANDORA_UNROLL
      for (int i = c + 1; i < kSide; ++i) {
        y[i] = fused(-L[i][c], y[c], y[i]);
        PANDORA_UNROLL
        for (int j = c + 1; j <= i; ++j) L[i][j] = fused(-L[i][c], L[j][c], L[i][j]);
      }
    }
    if (!positive) return false;
    for (int i = (k + 1) * kSide + team_.rank(); i < width_; i += team_.size()) {
      Real* const at = memory_.tile(i / kSide, k) + i % kSide * kSide;
      Real x[kSide], side = memory_.right(0)[i];
      load(at, x);
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) {
        x[c] *= inverse[c];
        side = fused(-x[c], y[c], side);
        PANDORA_UNROLL
        for (int e = c + 1; e < kSide; ++e) x[e] = fused(-x[c], L[e][c], x[e]);
      }
      store(at, x);
      memory_.right(0)[i] = side;
    }
    if (team_.rank() == team_.size() - 1) {  // the member with the least to do
      store(memory_.solved(k), y);
      PANDORA_UNROLL
      for (int i = 0; i < kSide; ++i) {
        L[i][i] = inverse[i];
        PANDORA_UNROLL
        for (int j = i + 1; j < kSide; ++j) L[i][j] = Real(0);
      }
      store(memory_.factor(k), L);
    }
    team_.sync();
    const int left = memory_.panels() - 1 - k, tiles = left * (left + 1) / 2;
    for (int piece = team_.rank(); piece < 2 * tiles; piece += team_.size()) {  // loop: factor update
      const int half = piece < tiles ? 0 : 1, first = half * kSide * kSide / 2;
      const TilePlace of = place_of_tile(piece - half * tiles), at{of.i + k + 1, of.j + k + 1};
      subtract_product(memory_.tile(at.i, at.j) + first, memory_.tile(at.i, k) + first, memory_.tile(at.j, k));
    }
    team_.sync();
    return true;
  }

  // out -= a b', where out and a have four rows.
  static PANDORA_HD void subtract_product(Real* out, const Real* a, const Real* b) {
    constexpr int kRows = kSide / 2;
    Four<Real> x[kRows][2], sums[kRows][2];
    PANDORA_UNROLL
    for (int r = 0; r < kRows; ++r) PANDORA_UNROLL
    for (int half = 0; half < 2; ++half) {
      x[r][half] = fours(a)[2 * r + half];
      sums[r][half] = fours(out)[2 * r + half];
    }
    PANDORA_UNROLL
    for (int e = 0; e < kSide; ++e) {
      const Four<Real> y[2] = {fours(b)[2 * e], fours(b)[2 * e + 1]};
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) PANDORA_UNROLL
      for (int r = 0; r < kRows; ++r)
        sums[r][e / 4].of[e % 4] = fused(-x[r][c / 4].of[c % 4], y[c / 4].of[c % 4], sums[r][e / 4].of[e % 4]);
    }
    PANDORA_UNROLL
    for (int r = 0; r < kRows; ++r) PANDORA_UNROLL
    for (int half = 0; half < 2; ++half) fours(out)[2 * r + half] = sums[r][half];
  }

  const Team& team_;
  const TileMemory<Real> memory_;
  const int m_, width_;
};

}  // namespace pandora::engine
