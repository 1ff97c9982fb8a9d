// The places where the threads of a kernel wait for each other: barriers of a block, barriers of a warp, and shuffles,
// which are barriers that hand values over. Use that CUDA leaves undefined is reported.
#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "check.hpp"
#include "fibers.hpp"

extern "C" const char __executable_start, etext;  // the start and end of the program's code, from the linker

namespace stand_in {
namespace {

// Keeps the calls that led to the place where a fiber waits, innermost first. They come from the frame pointers on its
// stack. Only checked programs do this, because it would take half of the time of the others.
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

// Reports fibers that wait at different places. Two addresses from the same source line are the same place, because the
// compiler may have copied the line.
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

}  // namespace

void leave_barriers(Fiber& self) {
  Block& block = *self.block;
  --block.live;
  WarpState& warp = block.warps[self.thread / 32];
  warp.left |= 1u << self.thread % 32;
  if (block.arrived > 0 && block.arrived == block.live) {
    report("__syncthreads: some threads of the block never reach it");
    release_block(block);
  }
  if (warp.arrived != 0) {
    report("warp barrier: waits for threads which have ended");
    if ((warp.arrived | warp.left) == 0xffffffffu) release_warp(block, self.thread / 32);
  }
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
  asm volatile("");  // prevents a tail call: remember_calls() needs this frame
}

void stand_in_shuffle(unsigned mask, void* value, std::size_t bytes, int source) {
  warp_barrier(mask, value, bytes, source, __builtin_frame_address(0));
  asm volatile("");
}

}  // extern "C"
