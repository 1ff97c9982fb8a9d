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
  pandora::test::StackPoint at;  ///< where it stands
  char* stack = nullptr;         ///< lowest address
  unsigned thread = 0;           ///< within the block
  Block* block = nullptr;
  // Where it waits: at the block's barrier, or at its warp's with a mask and what it gives to a shuffle.
  bool at_barrier = false;
  unsigned mask = 0;
  void* value = nullptr;
  std::size_t value_bytes = 0;
  int source = 0;
  const void* calls[kCalls] = {};
};
struct WarpState {
  unsigned arrived = 0, left = 0;  // sets of lanes
  Fiber* first = nullptr;          // to arrive
  std::uint32_t time = 0;          // of the last barrier, by the device's clock
};
struct Block {
  unsigned index = 0, threads = 0, live = 0, arrived = 0;
  Fiber* first = nullptr;  // to arrive at the barrier
  std::uint32_t time = 0;  // of the last barrier
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
  // Where the launch is watched: sectors of 32 bytes that a block has touched, outside of its shared memory.
  std::unordered_set<std::uint64_t>*read = nullptr, *written = nullptr;
  BankTraffic* banks = nullptr;  // and what it does there
};
extern __thread KernelRun* kernel_run;

void yield_fiber();  ///< another thread of the kernel goes on

/// Leaves the current fiber for another one, or for the scheduler if none can run.
void leave(Fiber* self);

/// A thread ends: whoever waits for it at a barrier is told (barriers.cpp).
void leave_barriers(Fiber& self);

}  // namespace stand_in
