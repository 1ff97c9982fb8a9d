// A Cholesky factor in the tiles of a team's memory, and what it solves.
#pragma once

#include <cmath>

#include "kernels/base/elementary.hpp"
#include "kernels/products/square_tiles.hpp"
#include "kernels/solve/tile_memory.hpp"

namespace pandora::engine {

/// By a team; every function ends with all members done. L has the Hessian's place in TileMemory.
template <class Real, class Team>
class TiledFactor {
 public:
  PANDORA_HD TiledFactor(const Team& team, const TileMemory<Real>& memory, int m)
      : team_(team), memory_(memory), m_(m), width_(memory.width()) {}

  /// The Hessian becomes L, and `solved` L^-1 right, which comes along. False if it is not positive definite.
  PANDORA_HD bool factorise() const {
    for (int k = 0; k < memory_.panels(); ++k)
      if (!factorise_panel(k)) return false;
    return true;
  }
  /// solved = L^-1 right; `right` is used up.
  PANDORA_HD void substitute_forward() const {
    for (int k = 0; k < memory_.panels(); ++k) substitute_forward(k);
  }
  /// direction = L'^-1 solved; `solved` is used up.
  PANDORA_HD void substitute_back() const {
    for (int k = memory_.panels() - 1; k >= 0; --k) substitute_back(k);
  }

 private:
  static constexpr int kSide = kTileSide;

  // Columns 8 k to 8 k + 7 of the factor, the right-hand side along, and what they change in the columns after them.
  // Every member factorises the tile on the diagonal for itself, which spares waiting for the one that would.
  PANDORA_HD bool factorise_panel(int k) const {
    Real L[kSide][kSide], inverse[kSide], y[kSide];
    const Real* const diagonal = memory_.tile(k, k);
    bool positive = true;
    PANDORA_UNROLL
    for (int i = 0; i < kSide; ++i) {
      y[i] = memory_.right(k)[i];
      PANDORA_UNROLL
      for (int j = 0; j <= i; ++j) L[i][j] = diagonal[i * kSide + j];
    }
    PANDORA_UNROLL
    for (int c = 0; c < kSide; ++c) {
      positive = positive && L[c][c] > Real(0) && is_finite(L[c][c]);
      inverse[c] = Real(1) / static_cast<Real>(::sqrt(L[c][c]));
      y[c] *= inverse[c];
      PANDORA_UNROLL
      for (int i = c; i < kSide; ++i) L[i][c] *= inverse[c];
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
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) x[c] = at[c];
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) {
        PANDORA_UNROLL
        for (int e = 0; e < c; ++e) x[c] = fused(-x[e], L[c][e], x[c]);
        x[c] *= inverse[c];
        side = fused(-x[c], y[c], side);
      }
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) at[c] = x[c];
      memory_.right(0)[i] = side;
    }
    if (team_.rank() == team_.size() - 1) {  // the one with the least to do
      Real* const out = memory_.factor(k);
      PANDORA_UNROLL
      for (int i = 0; i < kSide; ++i) {
        memory_.solved(k)[i] = y[i];
        PANDORA_UNROLL
        for (int j = 0; j < i; ++j) out[i * kSide + j] = L[i][j];
        out[i * kSide + i] = inverse[i];
      }
    }
    team_.sync();
    const int first = (k + 1) * (k + 2) / 2;  // tiles from row k + 1 on
    for (int tile = first + team_.rank(); tile < memory_.tiles(); tile += team_.size()) {
      const TilePlace at = place_of_tile(tile);
      if (at.j > k) subtract_product(memory_.tile(tile), memory_.tile(at.i, k), memory_.tile(at.j, k));
    }
    team_.sync();
    return true;
  }

  // out -= a b'
  static PANDORA_HD void subtract_product(Real* out, const Real* a, const Real* b) {
    for (int r = 0; r < kSide; ++r) {
      const Four<Real> x[2] = {fours(a)[2 * r], fours(a)[2 * r + 1]};
      Four<Real> sums[2] = {fours(out)[2 * r], fours(out)[2 * r + 1]};
      PANDORA_UNROLL
      for (int e = 0; e < kSide; ++e) {
        const Four<Real> y[2] = {fours(b)[2 * e], fours(b)[2 * e + 1]};
        Real sum = sums[e / 4].of[e % 4];
        PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c) sum = fused(-x[c / 4].of[c % 4], y[c / 4].of[c % 4], sum);
        sums[e / 4].of[e % 4] = sum;
      }
      fours(out)[2 * r] = sums[0];
      fours(out)[2 * r + 1] = sums[1];
    }
  }

  // solved = L^-1 right: its elements 8 k to 8 k + 7, and what they change in those after them.
  PANDORA_HD void substitute_forward(int k) const {
    const Real* const L = memory_.factor(k);
    Real y[kSide];
    PANDORA_UNROLL
    for (int c = 0; c < kSide; ++c) {
      y[c] = memory_.right(k)[c];
      PANDORA_UNROLL
      for (int e = 0; e < c; ++e) y[c] = fused(-L[c * kSide + e], y[e], y[c]);
      y[c] *= L[c * kSide + c];
    }
    for (int i = (k + 1) * kSide + team_.rank(); i < width_; i += team_.size()) {
      const Real* const row = memory_.tile(i / kSide, k) + i % kSide * kSide;
      Real value = memory_.right(0)[i];
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) value = fused(-row[c], y[c], value);
      memory_.right(0)[i] = value;
    }
    if (team_.rank() == team_.size() - 1) PANDORA_UNROLL
    for (int c = 0; c < kSide; ++c) memory_.solved(k)[c] = y[c];
    team_.sync();
  }

  // Elements 8 k to 8 k + 7 of the direction, and what they change in those before them.
  PANDORA_HD void substitute_back(int k) const {
    const Real* const L = memory_.factor(k);
    Real x[kSide];
    PANDORA_UNROLL
    for (int c = kSide - 1; c >= 0; --c) {
      x[c] = memory_.solved(k)[c];
      PANDORA_UNROLL
      for (int i = c + 1; i < kSide; ++i) x[c] = fused(-L[i * kSide + c], x[i], x[c]);
      x[c] *= L[c * kSide + c];
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

  const Team& team_;
  const TileMemory<Real> memory_;
  const int m_, width_;
};

}  // namespace pandora::engine
