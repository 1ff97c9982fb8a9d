// How the bodies of the engine run on a CPU: a team is one thread whose vectors fill a register. Host code only.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/base/team.hpp"

namespace pandora {

struct VectorTeam {
  template <class Real>
  using Vectors = Simd<Real>;
  static constexpr bool kVectors = true;
  static constexpr int kTile = 4;
  static constexpr bool kShares = false, kTiles = false;

  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
};

}  // namespace pandora
