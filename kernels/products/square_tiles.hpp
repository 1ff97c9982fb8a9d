// Lower triangles in tiles of 8 x 8, which blocks of threads keep in their shared memory. A tile is stored by rows, and
// the tiles of a row follow one another.
#pragma once

#include <cmath>

#include "kernels/base/elementary.hpp"

namespace pandora::engine {

/// Rows and columns of a tile.
inline constexpr int kTileSide = 8;
/// Elements from one tile to the next: four more than a tile has, so that the tiles of neighbouring members lie in
/// different banks.
inline constexpr int kTileStride = kTileSide * kTileSide + 4;

/// Four numbers that are moved at once.
template <class Real>
struct alignas(16) Four {
  Real of[4];
};
template <class Real>
PANDORA_HD Four<Real>* fours(Real* p) {
  return reinterpret_cast<Four<Real>*>(p);
}
template <class Real>
PANDORA_HD const Four<Real>* fours(const Real* p) {
  return reinterpret_cast<const Four<Real>*>(p);
}

/// Copies N numbers into registers or back, 16 bytes at a time. `apart` is the distance from one group of four to the
/// next.
template <int N, class T>
PANDORA_HD PANDORA_INLINE void load(const T* from, T (&to)[N], int apart = 4) {
  constexpr int kPiece = 16 / sizeof(T);
  struct alignas(16) Piece {
    T of[kPiece];
  };
  PANDORA_UNROLL
  for (int e = 0; e < N; e += kPiece) {
    const Piece piece = *reinterpret_cast<const Piece*>(from + e / 4 * apart + e % 4);
    PANDORA_UNROLL
    for (int k = 0; k < kPiece; ++k) to[e + k] = piece.of[k];
  }
}
template <int N, class T>
PANDORA_HD PANDORA_INLINE void store(T* to, const T (&from)[N], int apart = 4) {
  PANDORA_UNROLL
  for (int e = 0; e < N; e += 4) *fours(to + e / 4 * apart) = {from[e], from[e + 1], from[e + 2], from[e + 3]};
}
/// The rows of a tile.
template <int N, class T>
PANDORA_HD PANDORA_INLINE void load(const T* from, T (&to)[N][kTileSide]) {
  PANDORA_UNROLL
  for (int r = 0; r < N; ++r) load(from + r * kTileSide, to[r]);
}
template <int N, class T>
PANDORA_HD PANDORA_INLINE void store(T* to, const T (&from)[N][kTileSide]) {
  PANDORA_UNROLL
  for (int r = 0; r < N; ++r) store(to + r * kTileSide, from[r]);
}

/// sum + a b'
template <class Real>
PANDORA_HD PANDORA_INLINE void add_outer(const Real (&a)[kTileSide], const Real (&b)[kTileSide],
                                         Real (&sum)[kTileSide][kTileSide]) {
  PANDORA_UNROLL
  for (int r = 0; r < kTileSide; ++r) PANDORA_UNROLL
  for (int c = 0; c < kTileSide; ++c) sum[r][c] = fused(a[r], b[c], sum[r][c]);
}

/// Row and column of a tile in the triangle.
struct TilePlace {
  int i, j;
};

PANDORA_HD inline TilePlace place_of_tile(int tile) {
  int i = static_cast<int>((::sqrtf(8.0f * static_cast<float>(tile) + 1.0f) - 1.0f) * 0.5f);  // possibly one off
  i += (i + 1) * (i + 2) / 2 <= tile ? 1 : 0;
  i -= i * (i + 1) / 2 > tile ? 1 : 0;
  return {i, tile - i * (i + 1) / 2};
}

}  // namespace pandora::engine
