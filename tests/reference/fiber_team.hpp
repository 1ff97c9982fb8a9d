// Runs a block of threads as fibers of one CPU thread. A GPU's members work side by side; here their order is random
// between barriers. If a body reads something that another member has not written yet, its bytes change with the seed.
// The checked programs of the stand-in for CUDA (tests/cuda_stand_in) tell which access it was.
#pragma once

#include <cstring>
#include <functional>

#include "tests/reference/scalar_backend.hpp"

namespace pandora::test {

/// The block that runs on this thread, for use by its members.
struct Fibers {
  static int rank();
  static int size();
  static void* shared();  ///< kMostShared bytes
  static void sync();     ///< waits for all members of the block
  static void sync_warp();
  static const void* exchange(const void* value, std::size_t bytes, int from);  ///< another warp member's value
  static void copy(void* to, const void* from, std::size_t bytes);              ///< is only done at arrived()
  static void arrived();
};

/// The order in which the members of a block run.
struct FiberOrder {
  unsigned seed = 1;
};

/// Runs body() by `members` fibers. Returns the number of barriers at which the whole block met. Fails the test if some
/// members wait for ever.
int run_fibers(int members, FiberOrder order, const std::function<void()>& body);

/// A warp of a block: 32 of its members.
struct FiberWarp : ScalarTeam {
  int rank() const { return Fibers::rank() % 32; }
  int size() const { return Fibers::size() < 32 ? Fibers::size() : 32; }
  void sync() const { Fibers::sync_warp(); }
  template <class T>
  T shuffle(T value, int from) const {
    T out;
    std::memcpy(&out, Fibers::exchange(&value, sizeof value, from), sizeof out);
    return out;
  }
  template <class T>
  T shuffle_xor(T value, int mask) const {
    return shuffle(value, rank() ^ mask);
  }
  unsigned ballot(bool holds) const {
    unsigned out = (holds ? 1u : 0u) << rank();
    if (size() == 32)
      for (int mask = 1; mask < 32; mask *= 2) out |= shuffle_xor(out, mask);
    else
      for (int k = 0; k < size(); ++k) out |= shuffle(holds ? 1u : 0u, k) << k;
    return out;
  }
};

struct FiberTeam : ScalarTeam {
  static constexpr bool kShares = true;
  void* shared() const { return Fibers::shared(); }
  int rank() const { return Fibers::rank(); }
  int size() const { return Fibers::size(); }
  void sync() const { Fibers::sync(); }
  template <class T>
  void copy(T* to, const T* from) const {
    Fibers::copy(to, from, sizeof(T));
  }
  void arrived() const { Fibers::arrived(); }
};

}  // namespace pandora::test

template <>
struct pandora::TeamPart<pandora::test::FiberTeam> {
  test::FiberWarp team;
  int index, count;
};

namespace pandora::test {

inline TeamPart<FiberTeam> part_of(const FiberTeam& team) {
  return {{}, team.rank() / 32, parts_of(team.size())};
}

/// Every member runs body(team). Returns the number of barriers at which they met.
inline int by_fibers(int members, const std::function<void(const FiberTeam&)>& body, FiberOrder order = {}) {
  return run_fibers(members, order, [&body] { body(FiberTeam{}); });
}

/// A backend whose teams have `members` fibers, or 32 fibers in place of a device's warp. Items also run in a random
/// order.
class FiberBackend : public ScalarBackend {
 public:
  explicit FiberBackend(int members, FiberOrder order = {}) : members_(members), order_(order) {}

  template <class Body>
  void blocks(int items, const Body& body) {
    for_items(items, [&](int item) {
      by_fibers(
          members_, [&](const FiberTeam& team) { body(team, item, 0); }, next());
    });
  }
  template <class Body>
  void warps(int items, const Body& body) {
    for_items(items, [&](int item) { run_fibers(32, next(), [&] { body(FiberWarp{}, item, 0); }); });
  }
  template <class Real>
  void form(const engine::FormBlock<Real>& body, int matrices) {
    blocks(matrices, body);
  }
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = ScalarBackend::traits();
    traits.block_size = members_;
    return traits;
  }

 private:
  // Begins with a random item, and goes around through all of them.
  template <class Each>
  void for_items(int items, Each&& each) {
    const int first = static_cast<int>(next().seed % static_cast<unsigned>(items > 0 ? items : 1));
    for (int k = 0; k < items; ++k) each((first + k) % items);
  }
  FiberOrder next() { return {order_.seed = order_.seed * 1664525u + 1013904223u}; }

  int members_;
  FiberOrder order_;
};

}  // namespace pandora::test
