// Where kernels/solve/tiled_newton.hpp works.
#pragma once

#include <cstddef>

#include "kernels/base/team.hpp"
#include "kernels/products/square_tiles.hpp"

namespace pandora::engine {

/// Features are taken by eights: the Hessian's lower triangle lies in square tiles. Samples are taken in strips of 32.
/// A start and a size rather than a pointer for each part: registers are what a device's solve lacks.
template <class Real>
class TileMemory {
 public:
  static constexpr int kSide = kTileSide, kTile = kSide * kSide, kStrip = 32, kParts = 4, kPairs = 4;

  static PANDORA_HD std::size_t bytes(int m) {
    return sizeof(double) * 3 * static_cast<std::size_t>(panels(m) * kSide) +
           sizeof(Real) * static_cast<std::size_t>(reals(panels(m)));
  }
  /// What a launch gives a block of shared memory for it; 0 where that is more than every device has.
  static PANDORA_HD std::size_t shared_bytes(int m) { return bytes(m) <= kMostShared ? bytes(m) : 0; }

  /// `memory`: bytes(m), aligned to 16.
  PANDORA_HD TileMemory(void* memory, int m) : start_(static_cast<double*>(memory)), panels_(panels(m)) {}

  PANDORA_HD int panels() const { return panels_; }
  PANDORA_HD int width() const { return panels_ * kSide; }
  PANDORA_HD int tiles() const { return tiles(panels_); }

  // Of `width` elements each, zero beyond m.
  PANDORA_HD double* rho() const { return start_; }
  PANDORA_HD double* gradient() const { return start_ + width(); }
  PANDORA_HD double* direction() const { return start_ + 2 * width(); }
  PANDORA_HD Real* point() const { return real(0); }                              ///< rho in working precision
  PANDORA_HD Real* right(int k) const { return real(width()) + k * kSide; }       ///< of panel k: the right-hand side
  PANDORA_HD Real* solved(int k) const { return real(2 * width()) + k * kSide; }  ///< L^-1 right

  // Of a strip: the contexts, kParts pieces of z, m(z) and h(z) of each.
  PANDORA_HD Real* row(int s) const { return real(3 * width()) + s * row_stride(panels_); }
  PANDORA_HD Real* part(int s) const { return row(kStrip) + s * kParts; }
  PANDORA_HD Real* moment() const { return part(kStrip); }
  PANDORA_HD Real* weight() const { return moment() + kStrip; }

  /// Tile k of all; tile (i, j), j <= i; and the factors of those on the diagonal, with the inverse of their diagonals.
  PANDORA_HD Real* tile(int k) const { return weight() + kStrip + k * kTile; }
  PANDORA_HD Real* tile(int i, int j) const { return tile(i * (i + 1) / 2 + j); }
  PANDORA_HD Real* factor(int k) const { return tile(tiles()) + k * kTile; }

  /// What the last kPairs steps of a descent were, by how much each changed the gradient, and the gradient before them.
  PANDORA_HD Real* step(int pair) const { return factor(panels_) + 2 * pair * width(); }
  PANDORA_HD Real* change(int pair) const { return step(pair) + width(); }
  PANDORA_HD Real* before() const { return step(kPairs); }

 private:
  static PANDORA_HD int panels(int m) { return (m + kSide - 1) / kSide; }
  static PANDORA_HD int tiles(int panels) { return panels * (panels + 1) / 2; }
  /// Four more than the features, so that rows begin in different banks.
  static PANDORA_HD int row_stride(int panels) { return panels * kSide + 4; }
  static PANDORA_HD int reals(int panels) {
    return (4 + 2 * kPairs) * panels * kSide + kStrip * (row_stride(panels) + kParts + 2) +
           (tiles(panels) + panels) * kTile;
  }
  PANDORA_HD Real* real(int at) const { return reinterpret_cast<Real*>(start_ + 3 * width()) + at; }

  double* start_;
  int panels_;
};

}  // namespace pandora::engine
