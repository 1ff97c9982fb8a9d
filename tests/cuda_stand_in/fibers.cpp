// The threads of a kernel as fibers of the stream's thread. Blocks run in random order, a few
// at a time; threads change at barriers, and with STAND_IN_PREEMPT at accesses, in an order that is random, forwards,
// backwards or the same thread's as long as possible. Never built with a sanitiser: stacks change under its feet.
#include "fibers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "check.hpp"

#if !defined(__x86_64__)
#error "the stand-in changes stacks by hand, on x86-64 alone"
#endif
extern "C" void stand_in_switch(void** from, void* to);
extern "C" const char __executable_start, etext;  // of the program's code, from the linker
asm(R"(
.text
.globl stand_in_switch
.hidden stand_in_switch
.type stand_in_switch,@function
stand_in_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size stand_in_switch,.-stand_in_switch
)");

namespace stand_in {

__thread KernelRun* kernel_run = nullptr;
__thread Indices indices;

namespace {

thread_local std::minstd_rand quick;

// Fibers that ended are used again.
struct FiberPool {
  std::vector<Fiber*> free;
  ~FiberPool() {
    for (Fiber* const fiber : free) {
      munmap(fiber->stack - kPage, kStack + kPage);
      delete fiber;
    }
  }
  Fiber* take() {
    if (!free.empty()) {
      Fiber* const fiber = free.back();
      free.pop_back();
      return fiber;
    }
    void* const p =
        mmap(nullptr, kStack + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) std::perror("stand-in: a fiber's stack"), std::abort();
    mprotect(p, kPage, PROT_NONE);
    auto* const fiber = new Fiber;
    fiber->stack = static_cast<char*>(p) + kPage;
    return fiber;
  }
};
thread_local FiberPool pool;

Fiber* pick() {
  std::vector<Fiber*>& ready = kernel_run->ready;
  if (ready.empty()) return nullptr;
  const std::size_t at = kernel_run->policy == 0 ? quick() % ready.size() : ready.size() - 1;
  Fiber* const fiber = ready[at];
  ready[at] = ready.back();
  ready.pop_back();
  return fiber;
}

void go_on_with(Fiber* fiber) {
  kernel_run->current = fiber;
  if (fiber == nullptr) return;
  indices.thread = fiber->thread;
  indices.block = fiber->block->index;
}

// Leaves the current fiber for another one, or for the scheduler if none can run.
void leave(Fiber* self) {
  Fiber* const next = pick();
  if (next == self) return;
  go_on_with(next);
  stand_in_switch(&self->stack_pointer, next != nullptr ? next->stack_pointer : kernel_run->scheduler);
}

// The calls that led to where a fiber waits, innermost first, by the frame pointers on its stack. In checked programs
// only: it takes half of the time of the others.
void remember_calls(Fiber& fiber, void* frame) {
  if (check_range == nullptr) return;
  std::fill(std::begin(fiber.calls), std::end(fiber.calls), nullptr);
  const auto inside = [&](void* p) {
    return static_cast<std::size_t>(static_cast<char*>(p) - fiber.stack) < kStack - 2 * sizeof(void*);
  };
  for (const void*& call : fiber.calls) {
    if (!inside(frame)) return;
    void** const entry = static_cast<void**>(frame);
    if (entry[1] < &__executable_start || entry[1] >= &etext) return;  // not a frame
    call = entry[1];
    frame = entry[0];
  }
}

// Fibers must wait at the same place; a compiler may have made two places of one line.
void expect_same_place(const Fiber& a, const Fiber& b, const char* what) {
  if (check_range == nullptr) return;
  for (int k = 0; k < Fiber::kCalls; ++k) {
    if (a.calls[k] == b.calls[k]) continue;
    if (a.calls[k] == nullptr || b.calls[k] == nullptr) return;
    thread_local std::set<std::pair<const void*, const void*>> compared;
    if (!compared.insert({a.calls[k], b.calls[k]}).second) return;
    const std::string first = source_of(a.calls[k]), second = source_of(b.calls[k]);
    if (first != second)
      report(std::string(what) + ": threads wait at different places:\n" + first + "  and\n" + second);
    return;
  }
}

void release_block(Block& block) {
  block.time = ++kernel_run->device->clock;
  block.arrived = 0;
  const std::size_t n = block.fibers.size();
  for (std::size_t k = 0; k < n; ++k) {
    Fiber* const fiber = block.fibers[kernel_run->policy == 1 ? n - 1 - k : k];
    if (!fiber->at_barrier) continue;
    fiber->at_barrier = false;
    kernel_run->ready.push_back(fiber);
  }
}

void release_warp(Block& block, unsigned warp) {
  WarpState& state = block.warps[warp];
  state.time = ++kernel_run->device->clock;
  const unsigned lanes = std::exchange(state.arrived, 0u);
  unsigned char values[32][16];
  std::size_t bytes[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1) != 0) {
      const Fiber& fiber = *block.fibers[warp * 32 + lane];
      bytes[lane] = fiber.value_bytes;
      if (fiber.value != nullptr) std::memcpy(values[lane], fiber.value, fiber.value_bytes);
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1) != 0) {
      Fiber& fiber = *block.fibers[warp * 32 + lane];
      const unsigned source = static_cast<unsigned>(fiber.source) % 32;
      if (fiber.value != nullptr) {
        if ((lanes >> source & 1) == 0 || bytes[source] != fiber.value_bytes)
          report("shuffle: from a lane that does not take part");
        else
          std::memcpy(fiber.value, values[source], fiber.value_bytes);
      }
      fiber.value = nullptr;
      fiber.value_bytes = 0;
      kernel_run->ready.push_back(&fiber);
    }
}

void warp_barrier(unsigned mask, void* value, std::size_t bytes, int source, void* frame) {
  Fiber* const self = kernel_run->current;
  Block& block = *self->block;
  const unsigned warp = self->thread / 32, lane = self->thread % 32;
  WarpState& state = block.warps[warp];
  remember_calls(*self, frame);
  if ((mask >> lane & 1) == 0) report("warp barrier: its mask leaves out the caller");
  if (state.arrived == 0) state.first = self;
  if (state.first->mask != mask && state.arrived != 0)
    report("warp barrier: the lanes of a warp wait with different masks");
  expect_same_place(*state.first, *self, "warp barrier");
  if ((state.left & mask) != 0) report("warp barrier: waits for threads which have ended");
  self->mask = mask;
  self->value = value;
  self->value_bytes = bytes;
  self->source = source;
  state.arrived |= 1u << lane;
  if ((state.arrived & mask) == (mask & ~state.left)) release_warp(block, warp);
  leave(self);
}

void end_of_fiber() {
  Fiber* const self = kernel_run->current;
  Block& block = *self->block;
  --block.live;
  WarpState& warp = block.warps[self->thread / 32];
  warp.left |= 1u << self->thread % 32;
  if (block.arrived > 0 && block.arrived == block.live) {
    report("__syncthreads: some threads of the block never reach it");
    release_block(block);
  }
  if (warp.arrived != 0) {
    report("warp barrier: waits for threads which have ended");
    if ((warp.arrived | warp.left) == 0xffffffffu) release_warp(block, self->thread / 32);
  }
  leave(self);
  std::abort();  // nobody comes back
}

void fiber_main() {
  const Launch& launch = *kernel_run->launch;
  launch.call(launch.function, launch.parameters);
  end_of_fiber();
}

void start_fiber(Fiber* fiber, Block* block, unsigned thread) {
  char* const stack = fiber->stack;
  *fiber = Fiber{};
  fiber->stack = stack;
  fiber->thread = thread;
  fiber->block = block;
  // What stand_in_switch pops, and the address that it returns to; the stack is then aligned as at a function's start.
  auto** top = reinterpret_cast<void**>(stack + kStack - 64);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int k = 0; k < 6; ++k) *--top = nullptr;
  fiber->stack_pointer = top;
  block->fibers.push_back(fiber);
  kernel_run->ready.push_back(fiber);
}

// Shared memory is device memory, so that its accesses are checked in the same way: an area for each block that runs.
std::vector<char*>& shared_areas(Device& device) {
  thread_local std::map<Device*, std::vector<char*>> areas;
  std::vector<char*>& mine = areas[&device];
  const std::lock_guard guard(device.mutex);
  while (mine.size() < kResident) {
    mine.push_back(take_pages(device, kShared));
    if (mine.back() == nullptr) std::abort();
    if (device.key < 0) mprotect(mine.back(), kShared, PROT_READ | PROT_WRITE);
  }
  return mine;
}

// Launches that a test wants to know about.
struct Watch {
  struct Launch {
    unsigned blocks;
    std::size_t read, written;
  };
  std::mutex mutex;
  std::string part;
  std::vector<Launch> launches;
} watch;

}  // namespace

void yield_fiber() {
  Fiber* const self = kernel_run->current;
  kernel_run->ready.push_back(self);
  leave(self);
}

std::string place_in_kernel() {
  if (kernel_run == nullptr) return {};
  std::string out = kernel_run->launch->name;
  if (const Fiber* const fiber = kernel_run->current)
    out += ", block " + std::to_string(fiber->block->index) + ", thread " + std::to_string(fiber->thread);
  return out;
}

void run_kernel(const Launch& launch) {
  KernelRun run{&launch, running->stream->device, {}};
  kernel_run = &run;
  std::unordered_set<std::uint64_t> read, written;
  {
    const std::lock_guard guard(watch.mutex);
    if (check_range != nullptr && !watch.part.empty() && launch.name.find(watch.part) != std::string::npos) {
      run.read = &read;
      run.written = &written;
    }
  }
  quick.seed(static_cast<unsigned>(random_bits()) | 1u);
  run.policy = quick() % 4;
  if (settings().preempt > 0) run.budget = 1 + quick() % 1000;
  indices = {0, 0, launch.threads, launch.grid};
  std::vector<unsigned> order(launch.grid);
  for (unsigned k = 0; k < launch.grid; ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), quick);
  const std::size_t resident = std::min<std::size_t>(1 + quick() % kResident, std::max(1u, 1024 / launch.threads));
  std::vector<char*> areas = shared_areas(*run.device);
  std::vector<Block*> blocks;
  for (std::size_t next = 0; next < order.size() || !blocks.empty();) {
    for (std::size_t k = 0; k < blocks.size();) {
      Block* const block = blocks[k];
      if (block->live > 0) {
        ++k;
        continue;
      }
      pool.free.insert(pool.free.end(), block->fibers.begin(), block->fibers.end());
      areas.push_back(block->shared);
      delete block;
      blocks[k] = blocks.back();
      blocks.pop_back();
    }
    while (blocks.size() < resident && next < order.size()) {
      auto* const block = new Block;
      block->index = order[next++];
      block->threads = block->live = launch.threads;
      block->shared = areas.back();
      areas.pop_back();
      std::memset(block->shared, 0xff, launch.shared_bytes);
      if (check_range != nullptr) {
        std::uint8_t* const state = run.device->state + run.device->offset(block->shared);
        std::memset(state, rubbish, launch.shared_bytes);
        std::memset(state + launch.shared_bytes, nobodys, kShared - launch.shared_bytes);
        const std::size_t at = run.device->offset(block->shared);  // no block before this one has been here
        std::memset(static_cast<void*>(run.device->words + at / 4), 0, (launch.shared_bytes + 3) / 4 * sizeof(Cell));
        std::memset(static_cast<void*>(run.device->bytes + at), 0, launch.shared_bytes * sizeof(Cell));
      }
      for (unsigned thread = 0; thread < kMostThreads; ++thread)
        if (thread < launch.threads)
          start_fiber(pool.take(), block, thread);
        else
          block->warps[thread / 32].left |= 1u << thread % 32;
      blocks.push_back(block);
    }
    Fiber* const fiber = pick();
    if (fiber == nullptr) {
      if (std::all_of(blocks.begin(), blocks.end(), [](const Block* block) { return block->live == 0; })) continue;
      report("threads wait for each other for ever, some at __syncthreads, some at a warp's barrier");
      std::fflush(nullptr);
      _exit(kDefects);
    }
    go_on_with(fiber);
    stand_in_switch(&run.scheduler, fiber->stack_pointer);
    run.current = nullptr;
  }
  kernel_run = nullptr;
  if (run.read == nullptr) return;
  const std::lock_guard guard(watch.mutex);
  watch.launches.push_back({launch.grid, 32 * read.size(), 32 * written.size()});
}

Indices current_indices() {
  return indices;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

void stand_in_block_barrier() {
  Fiber* const self = kernel_run->current;
  Block& block = *self->block;
  remember_calls(*self, __builtin_frame_address(0));
  if (block.live != block.threads) report("__syncthreads: after threads of the block have ended");
  if (block.arrived == 0) block.first = self;
  expect_same_place(*block.first, *self, "__syncthreads");
  self->at_barrier = true;
  if (++block.arrived == block.live) release_block(block);
  leave(self);
}

void stand_in_warp_barrier(unsigned mask) {
  warp_barrier(mask, nullptr, 0, 0, __builtin_frame_address(0));
}

void stand_in_shuffle(unsigned mask, void* value, std::size_t bytes, int source) {
  warp_barrier(mask, value, bytes, source, __builtin_frame_address(0));
}

void stand_in_watch(const char* part) {
  const std::lock_guard guard(watch.mutex);
  watch.part = part != nullptr ? part : "";
  if (part != nullptr) watch.launches.clear();
}

bool stand_in_watched(int n, unsigned* blocks, std::size_t* read, std::size_t* written) {
  const std::lock_guard guard(watch.mutex);
  if (n < 0 || n >= static_cast<int>(watch.launches.size())) return false;
  const Watch::Launch& launch = watch.launches[static_cast<std::size_t>(n)];
  *blocks = launch.blocks;
  *read = launch.read;
  *written = launch.written;
  return true;
}

void* stand_in_shared_memory() {
  return kernel_run->current->block->shared;
}

int stand_in_atomic_add(int* p, int value) {
  if (check_atomic != nullptr) check_atomic(p, sizeof *p, __builtin_return_address(0));
  return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}

}  // extern "C"
