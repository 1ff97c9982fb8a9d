// The threads of a kernel as fibers of the stream's thread. Blocks run in random order, a few at a time. Threads take
// turns at barriers, and with STAND_IN_PREEMPT also at accesses. Their order is random, forwards or backwards, or one
// thread goes on as long as possible. This file is never built with a sanitiser, which could not follow the changes of
// stacks.
#include "fibers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>

#include "check.hpp"

namespace stand_in {

__thread KernelRun* kernel_run = nullptr;
__thread Indices indices;

namespace {

thread_local std::minstd_rand quick;

// Fibers that have ended, to be used again.
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

void end_of_fiber() {
  Fiber* const self = kernel_run->current;
  leave_barriers(*self);
  leave(self);
  std::abort();  // nobody returns to an ended fiber
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
  fiber->at.start_at(stack, kStack, &fiber_main);
  block->fibers.push_back(fiber);
  kernel_run->ready.push_back(fiber);
}

// Areas of shared memory, one for each block that can run at a time. They lie in device memory, so that accesses to
// them are checked in the same way.
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

// Makes the area look unwritten, as if no block had used it before.
void forget_shared_memory(Device& device, char* shared, std::size_t bytes) {
  std::memset(shared, 0xff, bytes);
  if (check_range == nullptr) return;
  const std::size_t at = device.offset(shared);
  std::memset(device.state + at, rubbish, bytes);
  std::memset(device.state + at + bytes, nobodys, kShared - bytes);
  std::memset(static_cast<void*>(device.words + at / 4), 0, (bytes + 3) / 4 * sizeof(Cell));
  std::memset(static_cast<void*>(device.bytes + at), 0, bytes * sizeof(Cell));
}

Block* start_block(const KernelRun& run, unsigned index, char* shared) {
  auto* const block = new Block;
  block->index = index;
  block->threads = block->live = run.launch->threads;
  block->shared = shared;
  forget_shared_memory(*run.device, shared, run.launch->shared_bytes);
  for (unsigned thread = 0; thread < kMostThreads; ++thread)
    if (thread < block->threads)
      start_fiber(pool.take(), block, thread);
    else
      block->warps[thread / 32].left |= 1u << thread % 32;
  return block;
}

// The launches of kernels that a test watches.
struct Watch {
  struct Launch {
    unsigned blocks;
    std::size_t read, written;
    std::map<const void*, BankTraffic::Sum> banks;
  };
  std::mutex mutex;
  std::string part;
  std::vector<Launch> launches;
} watch;

}  // namespace

void leave(Fiber* self) {
  Fiber* const next = pick();
  if (next == self) return;
  go_on_with(next);
  self->at.leave_for(next != nullptr ? next->at : kernel_run->scheduler);
}

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
  BankTraffic banks;
  {
    const std::lock_guard guard(watch.mutex);
    if (check_range != nullptr && !watch.part.empty() && launch.name.find(watch.part) != std::string::npos) {
      run.read = &read;
      run.written = &written;
      run.banks = &banks;
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
      blocks.push_back(start_block(run, order[next++], areas.back()));
      areas.pop_back();
    }
    Fiber* const fiber = pick();
    if (fiber == nullptr) {
      if (std::all_of(blocks.begin(), blocks.end(), [](const Block* block) { return block->live == 0; })) continue;
      report("threads wait for each other for ever, some at __syncthreads, some at a warp's barrier");
      std::fflush(nullptr);
      _exit(kDefects);
    }
    go_on_with(fiber);
    run.scheduler.leave_for(fiber->at);
    run.current = nullptr;
  }
  kernel_run = nullptr;
  if (run.read == nullptr) return;
  const std::lock_guard guard(watch.mutex);
  watch.launches.push_back({launch.grid, 32 * read.size(), 32 * written.size(), banks.finish()});
}

Indices current_indices() {
  return indices;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

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

bool stand_in_looks() {
  return check_range != nullptr;
}

double stand_in_wavefronts(double least, double* worst) {
  const std::lock_guard guard(watch.mutex);
  std::map<const void*, BankTraffic::Sum> all;
  BankTraffic::Sum total;
  for (const Watch::Launch& launch : watch.launches)
    for (const auto& [pc, sum] : launch.banks)
      for (BankTraffic::Sum* to : {&all[pc], &total}) {
        to->wavefronts += sum.wavefronts;
        to->ideal += sum.ideal;
      }
  *worst = 0.0;
  for (const auto& [pc, sum] : all) {
    if (sum.wavefronts < least * total.wavefronts) continue;
    *worst = std::max(*worst, sum.wavefronts / sum.ideal);
    if (sum.wavefronts > 1.5 * sum.ideal)
      std::fprintf(stderr, "stand-in: %.0f wavefronts of shared memory where %.0f would do, %.1f%% of all\n%s",
                   sum.wavefronts, sum.ideal, 100.0 * sum.wavefronts / total.wavefronts, source_of(pc).c_str());
  }
  return total.ideal > 0.0 ? total.wavefronts / total.ideal : 0.0;
}

void* stand_in_shared_memory() {
  return kernel_run->current->block->shared;
}

int stand_in_atomic_add(int* p, int value) {
  if (check_atomic != nullptr) check_atomic(p, sizeof *p, __builtin_return_address(0));
  return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}

unsigned long long stand_in_atomic_add_wide(unsigned long long* p, unsigned long long value) {
  if (check_atomic != nullptr) check_atomic(p, sizeof *p, __builtin_return_address(0));
  return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}

// Returns nanoseconds in place of cycles.
long long stand_in_clock() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // extern "C"
