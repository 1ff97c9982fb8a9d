// The products of a block for teams without vectors, in memory that a block of threads shares: P passes through it once
// for the updates of one block and the images and Gram matrix of the next.
#pragma once

#include "kernels/base/team.hpp"
#include "kernels/products/square_tiles.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// Where TiledProducts works: the lower triangle of P in tiles of 8 x 8, each by rows, those of a row of tiles one
/// after the other; the block's contexts; and its updates u_q, later its images.
template <class Real>
class ProductMemory {
 public:
  static constexpr int kSide = kTileSide, kTile = kTileStride;

  static PANDORA_HD std::size_t bytes(const Shape& shape) {
    const std::size_t p = panels(shape.m),
                      rows = static_cast<std::size_t>(row_stride(shape.m)) + static_cast<std::size_t>(shape.stride);
    return sizeof(Real) * (p * (p + 1) / 2 * kTile + rows * shape.B);
  }
  /// What a launch gives a block of shared memory for it; 0 where that is more than every device has. Then matrices are
  /// formed by a library.
  static PANDORA_HD std::size_t shared_bytes(const Shape& shape) {
    return bytes(shape) <= kMostShared ? bytes(shape) : 0;
  }

  ProductMemory() = default;  ///< where nothing is tiled
  /// `memory`: bytes(shape), aligned to 16.
  PANDORA_HD ProductMemory(void* memory, const Shape& shape)
      : start_(static_cast<Real*>(memory)),
        rows_(start_ + panels(shape.m) * (panels(shape.m) + 1) / 2 * kTile),
        work_(rows_ + shape.B * row_stride(shape.m)) {}

  PANDORA_HD Real* tile(int k) const { return start_ + k * kTile; }
  PANDORA_HD Real* tile(int i, int j) const { return tile(i * (i + 1) / 2 + j); }  ///< j <= i
  PANDORA_HD Real* rows() const { return rows_; }                                  ///< B x row_stride: psi_j
  PANDORA_HD Real* work() const { return work_; }                                  ///< B x stride: u_q, P psi_j

  static PANDORA_HD int panels(int m) { return (m + kSide - 1) / kSide; }
  /// Four more than the features, so that rows begin in different banks.
  static PANDORA_HD int row_stride(int m) { return panels(m) * kSide + 4; }

 private:
  Real *start_ = nullptr, *rows_ = nullptr, *work_ = nullptr;
};

/// By a team; every function ends with all members done. Sums go over features and updates in their order whatever the
/// team's size. Of P in the backend's memory the tiles on and below the diagonal are read and written.
template <class Real, class Team>
class TiledProducts {
 public:
  PANDORA_HD TiledProducts(const Team& team, const Shape& shape, const ProductMemory<Real>& memory)
      : team_(team), shape_(shape), memory_(memory), m_(shape.m), panels_(ProductMemory<Real>::panels(shape.m)) {}

  /// The contexts, from here on in the team's memory.
  PANDORA_HD BlockContexts<Real> stage(BlockContexts<Real> block) const {
    const int width = panels_ * kSide, row = ProductMemory<Real>::row_stride(m_);
    team_.sync();  // what lay there before may still be in use
    for (int at = team_.rank(); at < block.B * width / 4; at += team_.size()) {
      const int j = at / (width / 4), k = at % (width / 4);
      fours(memory_.rows() + j * row)[k] = fours(block.psi + j * block.stride)[k];
    }
    team_.sync();
    block.psi = memory_.rows();
    block.stride = row;
    return block;
  }

  /// Room for a block's updates, B rows of Shape::stride; form() overwrites it.
  PANDORA_HD Real* updates() const { return memory_.work(); }

  /// P, less sum_q u_q u_q' over the first `columns` rows of updates(), to the team's memory and, if there are any, to
  /// where it came from.
  PANDORA_HD void take(Real* P, int columns) const {
    const int stride = shape_.stride;
    team_.sync();
    for (int k = team_.rank(); k < panels_ * (panels_ + 1) / 2; k += team_.size()) {
      const TilePlace at = place_of_tile(k);
      const int i0 = at.i * kSide, k0 = at.j * kSide;
      Real* const from = P + i0 * stride + k0;
      Four<Real> sum[kSide][2];
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r)
        for (int half = 0; half < 2; ++half) sum[r][half] = i0 + r < m_ ? fours(from + r * stride)[half] : Four<Real>{};
      for (int q = 0; q < columns; ++q) {
        const Real* const u = memory_.work() + q * stride;
        const Four<Real> a[2] = {fours(u + i0)[0], fours(u + i0)[1]}, b[2] = {fours(u + k0)[0], fours(u + k0)[1]};
        PANDORA_UNROLL
        for (int r = 0; r < kSide; ++r) PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c)
          sum[r][c / 4].of[c % 4] = fused(-a[r / 4].of[r % 4], b[c / 4].of[c % 4], sum[r][c / 4].of[c % 4]);
      }
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r)
        for (int half = 0; half < 2; ++half) {
          fours(memory_.tile(k) + r * kSide)[half] = sum[r][half];
          if (columns > 0 && i0 + r < m_) fours(from + r * stride)[half] = sum[r][half];
        }
    }
    team_.sync();
  }

  /// Images and Gram matrix of the staged contexts under the P last taken.
  PANDORA_HD void form(const GramView<Real>& g, const BlockContexts<Real>& block) const {
    form_images(g, block);
    form_gram(g, block);
  }

 private:
  static constexpr int kSide = ProductMemory<Real>::kSide;
  static constexpr int kPeriods = 4;  // of a member's piece of images and Gram matrix

  // Eight features and four periods each, which are a quarter of the block apart: neighbours read neighbouring rows.
  PANDORA_HD void form_images(const GramView<Real>& g, const BlockContexts<Real>& block) const {
    const int quarter = (block.B + kPeriods - 1) / kPeriods;
    for (int item = team_.rank(); item < panels_ * quarter; item += team_.size()) {
      const int panel = item / quarter, first = item % quarter;
      Real sum[kPeriods][kSide] = {};
      for (int l = 0; l < panels_; ++l) {
        Four<Real> x[kPeriods][2];
        PANDORA_UNROLL
        for (int c = 0; c < kPeriods; ++c) {
          const int j = first + c * quarter;
          const Four<Real>* const psi = fours(block.psi + (j < block.B ? j : first) * block.stride + l * kSide);
          x[c][0] = psi[0];
          x[c][1] = psi[1];
        }
        const Real* const tile = memory_.tile(l <= panel ? panel : l, l <= panel ? l : panel);
        // The test stands outside of the loops: inside, members of a warp that differ in it would take both sides of each
        // product in turn.
        if (l <= panel) {  // feature r of the panel against eight of psi
          PANDORA_UNROLL
          for (int r = 0; r < kSide; ++r) {
            const Four<Real> p[2] = {fours(tile + r * kSide)[0], fours(tile + r * kSide)[1]};
            PANDORA_UNROLL
            for (int e = 0; e < kSide; ++e) PANDORA_UNROLL
            for (int c = 0; c < kPeriods; ++c) sum[c][r] = fused(p[e / 4].of[e % 4], x[c][e / 4].of[e % 4], sum[c][r]);
          }
        } else {  // eight features of the panel against the r-th of psi
          PANDORA_UNROLL
          for (int r = 0; r < kSide; ++r) {
            const Four<Real> p[2] = {fours(tile + r * kSide)[0], fours(tile + r * kSide)[1]};
            PANDORA_UNROLL
            for (int c = 0; c < kPeriods; ++c) PANDORA_UNROLL
            for (int e = 0; e < kSide; ++e) sum[c][e] = fused(p[e / 4].of[e % 4], x[c][r / 4].of[r % 4], sum[c][e]);
          }
        }
      }
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int j = first + c * quarter;
        if (j >= block.B) continue;
        for (int half = 0; half < 2; ++half) {
          Four<Real> out;
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) out.of[e] = sum[c][4 * half + e];
          const int at = j * shape_.stride + panel * kSide + 4 * half;
          *fours(memory_.work() + at) = out;
          *fours(g.image + at) = out;
        }
      }
    }
    team_.sync();
  }

  // gram(j, i), i >= j: two rows and four columns each, these a quarter of the block apart.
  PANDORA_HD void form_gram(const GramView<Real>& g, const BlockContexts<Real>& block) const {
    constexpr int kRows = 2;
    const int pairs = (block.B + kRows - 1) / kRows, quarter = (block.B + kPeriods - 1) / kPeriods;
    for (int item = team_.rank(); item < pairs * quarter; item += team_.size()) {
      const int j0 = item / quarter * kRows, first = item % quarter;
      const Real* const image[kRows] = {memory_.work() + j0 * shape_.stride,
                                        memory_.work() + (j0 + 1 < block.B ? j0 + 1 : j0) * shape_.stride};
      Real sum[kRows][kPeriods] = {};
      for (int k = 0; k < 2 * panels_; ++k) {
        const Four<Real> x[kRows] = {fours(image[0])[k], fours(image[1])[k]};
        PANDORA_UNROLL
        for (int c = 0; c < kPeriods; ++c) {
          const int i = first + c * quarter;
          if (i < j0 || i >= block.B) continue;
          const Four<Real> psi = fours(block.psi + i * block.stride)[k];
          PANDORA_UNROLL
          for (int r = 0; r < kRows; ++r) PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) sum[r][c] = fused(x[r].of[e], psi.of[e], sum[r][c]);
        }
      }
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int i = first + c * quarter;
        PANDORA_UNROLL
        for (int r = 0; r < kRows; ++r)
          if (j0 + r <= i && i < block.B) g.gram[(j0 + r) * shape_.width + i] = sum[r][c];
      }
    }
    team_.sync();
  }

  const Team& team_;
  const Shape& shape_;
  const ProductMemory<Real> memory_;
  const int m_, panels_;
};

}  // namespace pandora::engine
