// The threads of a kernel as fibers of the stream's thread.
#pragma once

#include <unordered_set>

#include "banks.hpp"
#include "stand_in.hpp"
#include "tests/reference/stacks.hpp"

namespace stand_in {

inline constexpr std::size_t kStack = 192 << 10, kUnaskedShared = 48 << 10, kShared = 99 << 10, kResident = 4;
inline constexpr unsigned kMostThreads = 1024;

struct Block;
struct Fiber {
  static constexpr int kCalls = 12;
  pandora::test::StackPoint at;  ///< the point from which it goes on
  char* stack = nullptr;         ///< lowest address
  unsigned thread = 0;           ///< within the block
  Block* block = nullptr;
  // The fiber waits at the block's barrier, or at its warp's barrier with a mask and the value that it gives to a
  // shuffle.
  bool at_barrier = false;
  unsigned mask = 0;
  void* value = nullptr;
  std::size_t value_bytes = 0;
  int source = 0;
  const void* calls[kCalls] = {};
};
struct WarpState {
  unsigned arrived = 0, left = 0;  // sets of lanes
  Fiber* first = nullptr;          // the first to arrive
  std::uint32_t time = 0;          // when the last barrier was, by the device's clock
};
struct Block {
  unsigned index = 0, threads = 0, live = 0, arrived = 0;
  Fiber* first = nullptr;  // the first to arrive at the barrier
  std::uint32_t time = 0;  // when the last barrier was
  WarpState warps[kMostThreads / 32];
  std::vector<Fiber*> fibers;
  char* shared = nullptr;
};
struct KernelRun {
  const Launch* launch;
  Device* device;
  std::vector<Fiber*> ready;
  Fiber* current = nullptr;
  pandora::test::StackPoint scheduler = {};
  unsigned policy = 0;
  std::uint64_t budget = ~std::uint64_t{0};  // accesses until the next change of threads
  // If the launch is watched: the sectors of 32 bytes that each block has touched outside of its shared memory,
  std::unordered_set<std::uint64_t>*read = nullptr, *written = nullptr;
  BankTraffic* banks = nullptr;  // and its accesses to shared memory
};
extern __thread KernelRun* kernel_run;

void yield_fiber();  ///< lets another thread of the kernel go on

/// Leaves the current fiber for another one, or for the scheduler if none can run.
void leave(Fiber* self);

/// To be called when a thread ends. Reports barriers at which others still wait for it (barriers.cpp).
void leave_barriers(Fiber& self);

}  // namespace stand_in
