// Lower triangles in tiles of 8 x 8, each by rows, those of a row of tiles one after the other: what blocks of threads
// keep in their shared memory.
#pragma once

#include <cmath>

#include "kernels/base/hd.hpp"

namespace pandora::engine {

/// Rows and columns of a tile.
inline constexpr int kTileSide = 8;
/// From one tile to the next: four more than it has, so that the tiles of neighbouring members lie in different banks.
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

/// Row and column of a tile among the tiles.
struct TilePlace {
  int i, j;
};

PANDORA_HD inline TilePlace place_of_tile(int tile) {
  int i = static_cast<int>((::sqrtf(8.0f * static_cast<float>(tile) + 1.0f) - 1.0f) * 0.5f);  // or one off
  i += (i + 1) * (i + 2) / 2 <= tile ? 1 : 0;
  i -= i * (i + 1) / 2 > tile ? 1 : 0;
  return {i, tile - i * (i + 1) / 2};
}

}  // namespace pandora::engine
