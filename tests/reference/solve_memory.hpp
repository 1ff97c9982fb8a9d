// The memory to which a solve writes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/solve/samples.hpp"

namespace pandora::test {

/// One slot of a pool, filled with zeros.
template <class Real>
class SolveMemory {
 public:
  SolveMemory() = default;
  SolveMemory(const SolveMemory&) = delete;

  /// Makes the slot for a team of `members` in `groups`. `joint`: the number of doubles of a joint solve.
  engine::SolveScratch<Real> allocate(const engine::Shape& shape, int groups, int members, std::size_t joint = 0) {
    engine::ScratchPool<Real> pool{};
    pool.groups = groups;
    pool.members = members;
    pool.joint = joint;
    reals_.assign(pool.reals_per_slot(shape), Real(0));
    doubles_.assign(pool.doubles_per_slot(shape), 0.0);
    ints_.assign(pool.ints_per_slot(shape), 0);
    pool.reals = reals_.data();
    pool.doubles = doubles_.data();
    pool.ints = ints_.data();
    return pool.of(shape, 0);
  }

 private:
  SimdVector<Real> reals_;
  SimdVector<double> doubles_;
  std::vector<int> ints_;
};

}  // namespace pandora::test
