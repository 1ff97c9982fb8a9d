// Where kernels/solve/tiled_newton.hpp works.
#pragma once

#include <cstddef>

#include "kernels/base/team.hpp"
#include "kernels/products/square_tiles.hpp"

namespace pandora::engine {

/// Features are taken by eights: the Hessian's lower triangle lies in square tiles. Samples are taken in strips, and the
/// strips belong to a few streams: what a stream sums up does not depend on who sums it, so the parts of a team have
/// streams of their own and the team's size changes nothing.
/// A start and a size rather than a pointer for each part: registers are what a device's solve lacks.
template <class Real>
class TileMemory {
 public:
  static constexpr int kSide = kTileSide, kTile = kTileStride, kPairs = 4;
  static constexpr int kRows = 8, kStreams = 12;  ///< samples of a strip, and streams of strips, for gradients
  static constexpr int kStrip = 32, kGroups = 4;  ///< the same for Hessians

  /// Of a team of `members`.
  static PANDORA_HD std::size_t bytes(int m, int members) {
    return sizeof(double) * 3 * static_cast<std::size_t>(panels(m) * kSide) + sweep_bytes(panels(m), members) +
           sizeof(Real) * static_cast<std::size_t>(reals(panels(m)));
  }
  /// What a launch gives a block of shared memory for it; 0 where that is more than every device has.
  static PANDORA_HD std::size_t shared_bytes(int m, int members) {
    return bytes(m, members) <= kMostShared ? bytes(m, members) : 0;
  }
  /// Members of a team of the most parts that has room in a block's shared memory, up to `most`.
  static PANDORA_HD int members_with_room(int m, int most) {
    while (most > 128 && shared_bytes(m, most) == 0) most -= 128;
    return most;
  }
  /// Groups of at least three parts that `parts` can be divided into: each forms Hessians of streams of its own.
  static PANDORA_HD int groups(int parts) {
    int groups = kGroups;
    while (groups > 1 && (parts % groups != 0 || parts / groups < 3)) --groups;
    return groups;
  }

  /// `memory`: bytes(m, members), aligned to 16.
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

  // Of a sweep for the gradient: a stream's sum of m(z) psi; of a part and its strip, what every four features add to z
  // of each sample, and m(z).
  PANDORA_HD double* sums(int stream) const { return sweep() + stream * width(); }
  PANDORA_HD Real* terms(int part) const {
    return reinterpret_cast<Real*>(sweep() + kStreams * width()) + part * part_reals(panels_);
  }
  PANDORA_HD Real* moment(int part) const { return terms(part) + kRows * terms_stride(panels_); }
  PANDORA_HD int terms_stride() const { return terms_stride(panels_); }

  // In the same place, of a sweep for the Hessian: a group's strip of contexts, and h(z) of each.
  PANDORA_HD Real* row(int group, int s) const {
    return reinterpret_cast<Real*>(sweep()) + group * group_reals(panels_) + s * row_stride(panels_);
  }
  PANDORA_HD Real* weight(int group) const { return row(group, kStrip); }

  /// Tile k of all; tile (i, j), j <= i; and the factors of those on the diagonal, with the inverse of their diagonals.
  PANDORA_HD Real* tile(int k) const { return real(3 * width()) + k * kTile; }
  PANDORA_HD Real* tile(int i, int j) const { return tile(i * (i + 1) / 2 + j); }
  PANDORA_HD Real* factor(int k) const { return tile(tiles()) + k * kTile; }

  /// What the last kPairs steps of a descent were, by how much each changed the gradient, and the gradient before them.
  PANDORA_HD Real* step(int pair) const { return factor(panels_) + 2 * pair * width(); }
  PANDORA_HD Real* change(int pair) const { return step(pair) + width(); }
  PANDORA_HD Real* before() const { return step(kPairs); }

 private:
  static PANDORA_HD int panels(int m) { return (m + kSide - 1) / kSide; }
  static PANDORA_HD int tiles(int panels) { return panels * (panels + 1) / 2; }
  /// Four more than the features, so that rows begin in different banks; and an odd number of terms, for the same.
  static PANDORA_HD int row_stride(int panels) { return panels * kSide + 4; }
  static PANDORA_HD int terms_stride(int panels) { return panels * kSide / 4 | 1; }
  static PANDORA_HD int part_reals(int panels) { return kRows * (terms_stride(panels) + 1); }
  static PANDORA_HD int group_reals(int panels) { return kStrip * (row_stride(panels) + 1); }
  static PANDORA_HD std::size_t sweep_bytes(int panels, int members) {
    const int parts = parts_of(members);
    const std::size_t gradient = sizeof(double) * static_cast<std::size_t>(kStreams * panels * kSide) +
                                 sizeof(Real) * static_cast<std::size_t>(parts * part_reals(panels)),
                      hessian = sizeof(Real) * static_cast<std::size_t>(groups(parts) * group_reals(panels));
    return gradient > hessian ? gradient : hessian;
  }
  static PANDORA_HD int reals(int panels) {
    return (4 + 2 * kPairs) * panels * kSide + (tiles(panels) + panels) * kTile;
  }
  PANDORA_HD Real* real(int at) const { return reinterpret_cast<Real*>(start_ + 3 * width()) + at; }
  PANDORA_HD double* sweep() const { return reinterpret_cast<double*>(real(reals(panels_))); }

  double* start_;
  int panels_;
};

}  // namespace pandora::engine
