// A backend that runs the bodies like a device, but on the CPU: a lane's elements one by one, and all lanes through a
// block together.
#pragma once

#include <algorithm>
#include <climits>
#include <functional>

#include "host/lanes/engine/cpu_backend.hpp"
#include "host/lanes/engine/run_lanes.hpp"

namespace pandora::test {

class ScalarBackend : public engine::HostMemory {
 public:
  static constexpr bool kVectors = false;

  engine::BackendTraits traits() const {
    return {.group = INT_MAX, .slots = 1, .block_size = 1, .vectors = false, .in_place = false};
  }
  int slots() const { return 1; }
  template <class Body>
  void blocks(int items, const Body& body) {
    for (int item = 0; item < items; ++item) body(SerialTeam{}, item, 0);
  }
  template <class Body>
  void warps(int items, const Body& body) {
    blocks(items, body);
  }
  template <class Real>
  void form(const engine::FormBlock<Real>& body, int matrices) {
    blocks(matrices, body);
  }
};

/// A backend with a sort, which the preparation of a replication needs.
template <class Base>
class Sorting : public Base {
 public:
  using Base::Base;
  void sort_descending(float* p, std::size_t n) { std::sort(p, p + n, std::greater<>()); }
};
using ScalarPrepareBackend = Sorting<ScalarBackend>;

}  // namespace pandora::test
