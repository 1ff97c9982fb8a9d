// The engine on a CPU: items one after the other, a lane at a time through a block, with vectors.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "host/lanes/engine/run_lanes.hpp"
#include "kernels/products/vector_products.hpp"
#include "kernels/solve/vector_solver.hpp"

namespace pandora::engine {

/// The part of a backend that lies in host memory: its memory.
class HostMemory {
 public:
  struct Delete {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<void, Delete> allocate(std::size_t bytes) {
    return std::unique_ptr<void, Delete>(::operator new (bytes, std::align_val_t{kAlignment}));
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // an empty list has no address
  }
  void download(void* to, const void* from, std::size_t bytes) { upload(to, from, bytes); }
  void zero(void* p, std::size_t bytes) { std::memset(p, 0, bytes); }
  void forget(void*, std::size_t) {}

 private:
  static constexpr std::size_t kAlignment = 256;
};

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
