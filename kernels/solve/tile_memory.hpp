// The memory in which kernels/solve/tiled_newton.hpp works.
#pragma once

#include <cstddef>

#include "kernels/base/members.hpp"
#include "kernels/products/square_tiles.hpp"

namespace pandora::engine {

/// Features are taken in panels of eight; the Hessian's lower triangle lies in square tiles. Samples are taken in
/// strips, and the strips belong to a few streams. The sum of a stream does not depend on who computes it, so the warps
/// of a team have streams of their own and the team's size changes nothing. At m = 101 the memory is 42 KiB, so that
/// four blocks fit on a multiprocessor.
/// The object keeps a start and a size rather than a pointer for each part, because a device's solve is short of
/// registers.
template <class Real>
class TileMemory {
 public:
  static constexpr int kSide = kTileSide, kTile = kTileStride, kPairs = 4;
  static constexpr int kStreams = 16;            ///< of strips of samples, for gradients
  static constexpr int kStrip = 16;              ///< samples that are prepared for Hessians, twice
  static constexpr int kSweptWidth = 4 * kWarp;  ///< up to this width a warp takes whole rows: four features a member

  static PANDORA_HD std::size_t bytes(int m) {
    return sizeof(double) * 3 * static_cast<std::size_t>(panels(m) * kSide) +
           sizeof(Real) * static_cast<std::size_t>(tiles_at(panels(m)) + tiled_reals(panels(m)));
  }
  /// The shared memory that a launch gives a block for it; 0 if that is more than some supported device has.
  static PANDORA_HD std::size_t shared_bytes(int m) { return bytes(m) <= kMostShared ? bytes(m) : 0; }
  /// The size of a running sum of curvatures (BoxView::hessian): the tiles, with groups of four elements of all tiles
  /// side by side.
  static PANDORA_HD int running_reals(int m) { return tiles(panels(m)) * kSide * kSide; }

  /// `memory`: bytes(m), aligned to 16.
  PANDORA_HD TileMemory(void* memory, int m) : start_(static_cast<double*>(memory)), panels_(panels(m)) {}

  PANDORA_HD int panels() const { return panels_; }
  PANDORA_HD int width() const { return panels_ * kSide; }
  PANDORA_HD int tiles() const { return tiles(panels_); }

  // Vectors of `width` elements, zero beyond m.
  PANDORA_HD double* rho() const { return start_; }
  PANDORA_HD double* gradient() const { return start_ + width(); }
  PANDORA_HD double* direction() const { return start_ + 2 * width(); }
  PANDORA_HD Real* right(int k) const { return part(0) + k * kSide; }   ///< of panel k: the right-hand side
  PANDORA_HD Real* solved(int k) const { return part(1) + k * kSide; }  ///< L^-1 right
  /// rho in working precision, of point_width() elements: a row as a warp takes it.
  PANDORA_HD Real* point() const { return real(0); }
  PANDORA_HD int point_width() const { return point_width(panels_); }

  /// The last kPairs steps of a descent, the changes of the gradient in them, and the gradient before them.
  PANDORA_HD Real* step(int pair) const { return part(2 + 2 * pair); }
  PANDORA_HD Real* change(int pair) const { return step(pair) + width(); }
  PANDORA_HD Real* before() const { return step(kPairs); }

  /// A stream's sum of m(z) psi.
  PANDORA_HD Real* sums(int stream) const { return part(3 + 2 * kPairs + stream); }

  /// The factors of the tiles on the diagonal, with the inverse of their diagonals.
  PANDORA_HD Real* factor(int k) const { return real(tiles_at(panels_) - (panels_ - k) * kTile); }
  /// While a Hessian is formed there are no steps, and the warps of a team exchange numbers in their place.
  PANDORA_HD int* counts() const { return reinterpret_cast<int*>(step(0)); }
  /// Tile k of all; tile (i, j), j <= i.
  PANDORA_HD Real* tile(int k) const { return real(tiles_at(panels_)) + k * kTile; }
  PANDORA_HD Real* tile(int i, int j) const { return tile(i * (i + 1) / 2 + j); }

  // The place of the tiles while they are summed, two strips of contexts with their weights h(z). A row has the first
  // halves of all panels, then the second ones. So neighbouring members, and neighbouring rows, read groups of four in
  // different banks.
  PANDORA_HD int row_stride() const { return row_stride(panels_); }
  PANDORA_HD Real* rows(int buffer) const { return tile(0) + buffer * kStrip * (row_stride() + 1); }
  PANDORA_HD Real* weights(int buffer) const { return rows(buffer) + kStrip * row_stride(); }

 private:
  static PANDORA_HD int panels(int m) { return (m + kSide - 1) / kSide; }
  static PANDORA_HD int tiles(int panels) { return panels * (panels + 1) / 2; }
  static PANDORA_HD int row_stride(int panels) { return panels * kSide + 4; }
  static PANDORA_HD int tiles_at(int panels) {
    const int streams = panels * kSide <= kSweptWidth ? kStreams : 1;
    return point_width(panels) + (3 + 2 * kPairs + streams) * panels * kSide + panels * kTile;
  }
  static PANDORA_HD int tiled_reals(int panels) {
    const int ready = panels * kSide <= kSweptWidth ? 2 * kStrip * (row_stride(panels) + 1) : 0;
    return tiles(panels) * kTile > ready ? tiles(panels) * kTile : ready;
  }
  static PANDORA_HD int point_width(int panels) { return panels * kSide > kSweptWidth ? panels * kSide : kSweptWidth; }
  PANDORA_HD Real* part(int k) const { return real(point_width()) + k * width(); }
  PANDORA_HD Real* real(int at) const { return reinterpret_cast<Real*>(start_ + 3 * width()) + at; }

  double* start_;
  int panels_;
};

}  // namespace pandora::engine
