// The engine on a CPU: items one after the other, a lane at a time through a block, with vectors.
#pragma once

#include "host/lanes/engine/host_memory.hpp"
#include "host/lanes/engine/run_lanes.hpp"
#include "kernels/products/vector_products.hpp"
#include "kernels/solve/vector_solver.hpp"

namespace pandora::engine {

class CpuBackend : public HostMemory {
 public:
  static constexpr bool kVectors = true;

  BackendTraits traits() const {
    return {
        .group = 1, .slots = 1, .block_size = 1, .vectors = true, .in_place = true, .newton_samples = kNewtonSamples};
  }
  template <class Body>
  void blocks(int items, const Body& body) {
    for (int item = 0; item < items; ++item) body(VectorTeam{}, item, 0);
  }
  template <class Body>
  void warps(int items, const Body& body) {
    blocks(items, body);
  }
};

}  // namespace pandora::engine
