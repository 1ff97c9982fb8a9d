// Where teams without vectors keep an inverse P between two blocks, and the memory through which P passes from one
// block to the next. The shape alone decides both, so that bodies that run with different teams agree.
#pragma once

#include "kernels/products/square_tiles.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// The memory in which TiledProducts works. Its stages follow each other in the same places:
///
///   tiles of P, at a stride that spreads neighbours over the banks      then, when P is done with, the images
/// u_q or their sources, the columns C, periods and roots              then the contexts, rho and the other inputs
///                                                                       of the block that begins
template <class Real>
class ProductMemory {
 public:
  static constexpr int kSide = kTileSide, kTile = kTileStride;
  static constexpr int kGroup = 4;  ///< panels of eight features whose images a warp forms

  /// Bytes of a block's memory; 0 if that is more than some supported device has. A library then forms the matrices.
  static PANDORA_HD std::size_t shared_bytes(const Shape& shape) {
    return bytes(shape) <= kMostShared ? bytes(shape) : 0;
  }
  static PANDORA_HD std::size_t bytes(const Shape& shape) { return sizeof(Real) * reals(shape.m, shape.B); }

  /// `memory`: bytes(shape), aligned to 16.
  PANDORA_HD ProductMemory(void* memory, const Shape& shape)
      : start_(static_cast<Real*>(memory)), m_(shape.m), B_(shape.B), rest_(start_ + first_part(m_, B_)) {}

  PANDORA_HD Real* tile(int k) const { return start_ + k * kTile; }
  PANDORA_HD Real* tile(int i, int j) const { return tile(i * (i + 1) / 2 + j); }  ///< j <= i
  /// Tile (j, i) of P, i < j, where both panels are in one group: the transpose of tile(j, i), by rows of panel i.
  PANDORA_HD Real* mirrored(int i, int j) const {
    const int at = i % kGroup;
    return mirrored_tiles() + (i / kGroup * kPairs + at * (kGroup - 1) - at * (at - 1) / 2 + j - i - 1) * kTile;
  }
  PANDORA_HD Real* images() const { return start_; }  ///< B x row()

  PANDORA_HD Real* updates() const { return rest_; }  ///< padded(B) x row(): u_q, or the images of the block that ends
  PANDORA_HD Real* columns() const { return rest_ + padded(B_) * row(); }   ///< C_q[j] in row j: B x column_row()
  PANDORA_HD Real* roots() const { return columns() + B_ * column_row(); }  ///< padded(B): f of every u
  PANDORA_HD int* periods() const { return reinterpret_cast<int*>(roots() + padded(B_)); }  ///< padded(B)

  PANDORA_HD Real* contexts() const { return rest_; }                  ///< B x row()
  PANDORA_HD Real* rho() const { return rest_ + B_ * row(); }          ///< row()
  PANDORA_HD Real* diagonal() const { return rho() + row(); }          ///< padded(B)
  PANDORA_HD Real* bounds() const { return diagonal() + padded(B_); }  ///< padded(B): the most that it may be

  PANDORA_HD int periods_of_block() const { return B_; }
  PANDORA_HD int tiles() const { return tiles(m_); }
  PANDORA_HD int row() const { return row(m_); }
  PANDORA_HD int column_row() const { return padded(B_) + 4; }
  static PANDORA_HD int panels(int m) { return (m + kSide - 1) / kSide; }
  static PANDORA_HD int tiles(int m) { return panels(m) * (panels(m) + 1) / 2; }
  static PANDORA_HD int padded(int n) { return (n + 3) / 4 * 4; }

 private:
  static constexpr int kPairs = kGroup * (kGroup - 1) / 2;

  // Four more than the features, so that rows begin in different banks.
  static PANDORA_HD int row(int m) { return panels(m) * kSide + 4; }
  static PANDORA_HD int first_part(int m, int B) {
    const int images = B * row(m);
    return tiles(m) * kTile > images ? tiles(m) * kTile : images;
  }
  static PANDORA_HD std::size_t reals(int m, int B) {
    const int left = panels(m) % kGroup, pairs = panels(m) / kGroup * kPairs + left * (left - 1) / 2,
              ends = padded(B) * row(m) + B * (padded(B) + 4) + 2 * padded(B),
              begins = (B + 1) * row(m) + 2 * padded(B) + pairs * kTile;
    return static_cast<std::size_t>(first_part(m, B)) + static_cast<std::size_t>(ends > begins ? ends : begins);
  }
  PANDORA_HD Real* mirrored_tiles() const { return bounds() + padded(B_); }

  Real* const start_;
  const int m_, B_;
  Real* const rest_;
};

/// How an inverse P lies in a backend's memory. Teams with vectors, and shapes for which a library multiplies, have it
/// in full: m rows of Shape::stride. Where matrices pass through ProductMemory it is the lower triangle, tile by tile.
/// Tiles on the diagonal are whole, and elements beyond m are 0.
template <class Real>
class StoredInverse {
 public:
  PANDORA_HD StoredInverse(const Shape& shape, bool vectors)
      : m_(shape.m), stride_(shape.stride), tiled_(!vectors && ProductMemory<Real>::shared_bytes(shape) > 0) {}

  PANDORA_HD bool tiled() const { return tiled_; }
  PANDORA_HD int size() const { return tiled_ ? ProductMemory<Real>::tiles(m_) * kTileSide * kTileSide : m_ * stride_; }
  /// The place from which element (i, k) is read.
  PANDORA_HD int at(int i, int k) const {
    if (!tiled_) return i * stride_ + k;
    const int row = i < k ? k : i, column = i < k ? i : k, panel = row / kTileSide;
    return (panel * (panel + 1) / 2 + column / kTileSide) * kTileSide * kTileSide + row % kTileSide * kTileSide +
           column % kTileSide;
  }

  /// Sets P(i, k) = P(k, i) = value(i, k) for i >= k, by a team.
  template <class Team, class Value>
  PANDORA_HD void store(const Team& team, Real* P, Value&& value) const {
    const int rows = tiled_ ? size() / kTileSide : m_, width = tiled_ ? kTileSide : stride_;
    for (int row = team.rank(); row < rows; row += team.size()) {
      const Square at = tiled_ ? square(row / kTileSide * 4) : Square{row, 0, 0, 0};
      const int i = at.i + (tiled_ ? row % kTileSide : 0);
      for (int e = 0; e < width; ++e) {
        const int k = at.k + e;
        P[row * width + e] = i < m_ && k < m_ ? static_cast<Real>(k <= i ? value(i, k) : value(k, i)) : Real(0);
      }
    }
    team.sync();
  }

  /// A piece of 4 x 4, in which everything is stored: it begins with element (i, k) at `first` and has rows of `step`.
  struct Square {
    int i, k, first, step;
  };
  PANDORA_HD int squares() const { return tiled_ ? ProductMemory<Real>::tiles(m_) * 4 : (m_ + 3) / 4 * ((m_ + 3) / 4); }
  PANDORA_HD Square square(int n) const {
    if (!tiled_) {
      const int side = (m_ + 3) / 4, i = n / side * 4, k = n % side * 4;
      return {i, k, i * stride_ + k, stride_};
    }
    const TilePlace tile = place_of_tile(n / 4);
    const int row = n % 4 / 2 * 4, column = n % 2 * 4;
    return {tile.i * kTileSide + row, tile.j * kTileSide + column,
            n / 4 * kTileSide * kTileSide + row * kTileSide + column, kTileSide};
  }

 private:
  const int m_, stride_;
  const bool tiled_;
};

}  // namespace pandora::engine
