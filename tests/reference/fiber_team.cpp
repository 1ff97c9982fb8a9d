#include "tests/reference/fiber_team.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/reference/stacks.hpp"

// GCC reports a sanitiser by a macro, and clang by a feature.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PANDORA_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define PANDORA_TSAN 1
#endif
#if defined(PANDORA_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace pandora::test {
namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;

// A copy that a member has started and not yet waited for.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

struct Fiber {
  StackPoint at;
  std::vector<Copy> copies;
  std::unique_ptr<char[]> stack{new char[kStack]};
#if defined(PANDORA_TSAN)
  void* known = __tsan_create_fiber(0);
  int runs = 0;
  // The functions in which a run ends never return, and the sanitiser has room for a limited number of callers.
  void forget_callers() {
    if (++runs % 4096 != 0) return;
    __tsan_destroy_fiber(known);
    known = __tsan_create_fiber(0);
  }
  ~Fiber() {
    __tsan_destroy_fiber(known);
  }
#endif
};

// The members of a block or of a warp, which meet at a barrier.
struct Meeting {
  int live = 0, arrived = 0;
  std::vector<int> waiting;
};

struct Block {
  int members = 0, current = -1, barriers = 0;
  const std::function<void()>* body = nullptr;
  std::minstd_rand random;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<int> ready;
  Meeting all;
  std::vector<Meeting> warps;
  StackPoint scheduler;
#if defined(PANDORA_TSAN)
  void* known = nullptr;
#endif
  // The values that members give to a shuffle. A member has two places and takes them in turn, because the next shuffle
  // may come before all have read this value.
  static constexpr std::size_t kMostBytes = 16;
  std::vector<std::array<std::array<char, kMostBytes>, 2>> given;
  std::vector<unsigned char> turn;
  alignas(16) unsigned char shared[kMostShared];
};
thread_local std::unique_ptr<Block> block;

void switch_to(StackPoint& from, int to) {
  block->current = to;
  const StackPoint& next = to >= 0 ? block->fibers[static_cast<std::size_t>(to)]->at : block->scheduler;
#if defined(PANDORA_TSAN)
  __tsan_switch_to_fiber(to >= 0 ? block->fibers[static_cast<std::size_t>(to)]->known : block->known, 0);
#endif
  from.leave_for(next);
}

// Lets another member go on, or the scheduler if no member can.
void leave(StackPoint& from) {
  std::vector<int>& ready = block->ready;
  if (ready.empty()) return switch_to(from, -1);
  const std::size_t at = block->random() % ready.size();
  const int next = ready[at];
  ready[at] = ready.back();
  ready.pop_back();
  if (next != block->current) switch_to(from, next);
}

void release(Meeting& meeting) {
  meeting.arrived = 0;
  block->ready.insert(block->ready.end(), meeting.waiting.begin(), meeting.waiting.end());
  meeting.waiting.clear();
}

void meet(Meeting& meeting) {
  const int self = block->current;
  meeting.waiting.push_back(self);
  if (++meeting.arrived == meeting.live) release(meeting);
  leave(block->fibers[static_cast<std::size_t>(self)]->at);
}

void end_one(Meeting& meeting) {
  if (--meeting.live > 0 && meeting.arrived == meeting.live) release(meeting);
}

void member() {
  (*block->body)();
  const int self = block->current;
  end_one(block->all);
  end_one(block->warps[static_cast<std::size_t>(self / 32)]);
  leave(block->fibers[static_cast<std::size_t>(self)]->at);
  std::abort();  // nobody returns to an ended member
}

}  // namespace

int Fibers::rank() {
  return block->current;
}
int Fibers::size() {
  return block->members;
}
void* Fibers::shared() {
  return block->shared;
}
void Fibers::sync() {
  if (rank() == 0) ++block->barriers;
  meet(block->all);
}
void Fibers::sync_warp() {
  meet(block->warps[static_cast<std::size_t>(rank() / 32)]);
}
const void* Fibers::exchange(const void* value, std::size_t bytes, int from) {
  const std::size_t self = static_cast<std::size_t>(rank());
  const unsigned turn = block->turn[self] ^= 1;
  std::memcpy(block->given[self][turn].data(), value, bytes);
  sync_warp();
  return block->given[self / 32 * 32 + static_cast<std::size_t>(from)][turn].data();
}

void Fibers::copy(void* to, const void* from, std::size_t bytes) {
  block->fibers[static_cast<std::size_t>(rank())]->copies.push_back({to, from, bytes});
}
void Fibers::arrived() {
  std::vector<Copy>& copies = block->fibers[static_cast<std::size_t>(rank())]->copies;
  for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
}

int run_fibers(int members, FiberOrder order, const std::function<void()>& body) {
  if (block == nullptr) block = std::make_unique<Block>();
  Block& b = *block;
  const std::size_t n = static_cast<std::size_t>(members);
  b.members = members;
  b.barriers = 0;
  b.body = &body;
  b.random.seed(order.seed % 2147483647u | 1u);
  b.all = {members, 0, {}};
  b.warps.assign((n + 31) / 32, {});
  b.given.resize(std::max(b.given.size(), n));
  b.turn.assign(n, 0);
  b.ready.clear();
  std::memset(b.shared, 0xff, sizeof b.shared);  // NaN everywhere
#if defined(PANDORA_TSAN)
  b.known = __tsan_get_current_fiber();
#endif
  while (b.fibers.size() < n) b.fibers.push_back(std::make_unique<Fiber>());
  for (std::size_t k = 0; k < n; ++k) {
    ++b.warps[k / 32].live;
    b.fibers[k]->copies.clear();
#if defined(PANDORA_TSAN)
    b.fibers[k]->forget_callers();
#endif
    b.fibers[k]->at.start_at(b.fibers[k]->stack.get(), kStack, member);
    b.ready.push_back(static_cast<int>(k));
  }
  leave(b.scheduler);
  if (b.all.live > 0) {
    ADD_FAILURE() << b.all.live << " of " << members << " members wait for ever";
    std::abort();
  }
  return b.barriers;
}

}  // namespace pandora::test
