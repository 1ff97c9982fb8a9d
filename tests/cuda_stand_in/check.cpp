// Checks every access of a kernel. The device pass is compiled with -fsanitize=thread, which inserts calls. Here are
// the functions that are called, in place of the sanitiser's own. An address must belong to a live array of the
// kernel's device and be aligned. Memory that is read must have been written before. If somebody else has touched the
// memory, a barrier, a launch or a wait must lie in between.
#include "check.hpp"

#include <link.h>

#include <cstdio>
#include <cstring>

#include "fibers.hpp"

namespace stand_in {
namespace {

constexpr std::uint32_t kAtomic = 1u << 26, kNobody = 0xffffu << 10 | 1023u;  // kNobody: a copy or memset

std::uint32_t stream_of(std::uint32_t who) {
  return who >> 27;
}
std::uint32_t block_of(std::uint32_t who) {
  return who >> 10 & 0xffffu;
}
std::uint32_t thread_of(std::uint32_t who) {
  return who & 1023u;
}

std::string text_of(std::uint32_t who) {
  if ((who & kNobody) == kNobody) return "a copy or the like";
  return "block " + std::to_string(block_of(who)) + " thread " + std::to_string(thread_of(who));
}

std::string text_of(Device& device, const char* p) {
  char out[200];
  const std::lock_guard guard(device.mutex);
  for (const auto* map : {&device.live, &device.gone})
    for (const auto& [base, bytes] : *map)
      if (p >= base - kPage && p < base + bytes + kPage) {
        std::snprintf(out, sizeof out, "byte %td of %s%zu bytes on device %d", p - base,
                      map == &device.gone ? "freed " : "", bytes, device.id);
        return out;
      }
  std::snprintf(out, sizeof out, "%p on device %d", static_cast<const void*>(p), device.id);
  return out;
}

// Whether the bytes lie where a program's constants may lie.
bool is_constant(std::uintptr_t first, std::size_t bytes) {
  struct Segment {
    std::uintptr_t begin, end;
  };
  static const std::vector<Segment> all = [] {
    std::vector<Segment> list;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          for (int k = 0; k < info->dlpi_phnum; ++k) {
            const auto& part = info->dlpi_phdr[k];
            if ((part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) || part.p_type == PT_GNU_RELRO)
              static_cast<std::vector<Segment>*>(out)->push_back(
                  {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz});
          }
          return 0;
        },
        &list);
    return list;
  }();
  for (const Segment& segment : all)
    if (first >= segment.begin && first + bytes <= segment.end) return true;
  return false;
}

// Whether the access in `tag` had certainly ended before the running thread's current access.
bool ordered(const Tag& tag, const Fiber& fiber, std::uint32_t who) {
  const Running& now = *running;
  if (stream_of(tag.who) != stream_of(who)) return tag.when <= now.known[stream_of(tag.who)];
  if (tag.when < now.start) return true;               // an earlier launch of the same stream
  if (((tag.who ^ who) & ~kAtomic) == 0) return true;  // the same thread
  if (block_of(tag.who) != block_of(who)) return false;
  if (tag.when < fiber.block->time) return true;
  return thread_of(tag.who) / 32 == fiber.thread / 32 && tag.when < fiber.block->warps[fiber.thread / 32].time;
}

void look(Device& device, Cell& cell, const Fiber& fiber, const char* p, bool writes, bool atomic, const void* pc) {
  const std::uint32_t who = static_cast<std::uint32_t>(running->stream->number) << 27 | (atomic ? kAtomic : 0u) |
                            (fiber.block->index & 0xffffu) << 10 | fiber.thread;
  const auto conflicts = [&](const Tag& tag) {
    return tag.when != 0 && !(atomic && (tag.who & kAtomic) != 0) && !ordered(tag, fiber, who);
  };
  if (conflicts(cell.writer))
    report(std::string("race: ") + (writes ? "writes" : "reads") + " what " + text_of(cell.writer.who) +
               " wrote: " + text_of(device, p),
           pc);
  const Tag tag{who, device.clock.load(std::memory_order_relaxed)};
  if (writes) {
    for (const Tag& reader : cell.reader)
      if (conflicts(reader))
        report(std::string("race: writes what ") + text_of(reader.who) + " read: " + text_of(device, p), pc);
    cell.writer = tag;
    return;
  }
  if (cell.reader[0].who != who) {
    if (cell.reader[0].who >> 10 != who >> 10) cell.reader[2] = cell.reader[0];
    cell.reader[1] = cell.reader[0];
  }
  cell.reader[0] = tag;
}

void check_state(Device& device, const char* p, std::size_t bytes, bool writes, const void* pc) {
  std::uint8_t* const state = device.state + device.offset(p);
  for (std::size_t k = 0; k < bytes; ++k) {
    if (state[k] == written) continue;
    if (state[k] == rubbish && writes) {
      state[k] = written;
      continue;
    }
    if (state[k] == rubbish) {
      report("uninitialised: reads " + text_of(device, p + k) + ", which nothing has written", pc);
      std::memset(state + k, written, bytes - k);
      return;
    }
    report(std::string("bounds: ") + (writes ? "writes " : "reads ") +
               (state[k] == freed ? "freed memory: "
                : state[k] == gap ? "between arrays: "
                                  : "outside of arrays: ") +
               text_of(device, p + k),
           pc);
    return;
  }
}

// It is inlined into the callbacks, because their return address is the place of the access.
__attribute__((always_inline)) inline void check(const void* address, std::size_t bytes, bool writes, bool aligned,
                                                 bool atomic, const void* pc) {
  KernelRun* const run = kernel_run;
  if (run == nullptr || run->current == nullptr) return;
  Fiber& fiber = *run->current;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - reinterpret_cast<std::uintptr_t>(fiber.stack) < kStack) return;
  Device& device = *run->device;
  const char* const p = static_cast<const char*>(address);
  if (!device.holds(p)) {
    if (!writes && is_constant(at, bytes)) return;
    report(std::string("owner: ") + (writes ? "writes" : "reads") +
               (device_of(p) != nullptr ? " another device's memory" : " host memory or another thread's local memory"),
           pc);
    return;
  }
  if (aligned && at % bytes != 0) report("alignment: an access of " + std::to_string(bytes) + " bytes", pc);
  const bool shared = static_cast<std::size_t>(p - fiber.block->shared) < kShared;
  if (run->banks != nullptr && shared)
    run->banks->add(fiber.block->index, fiber.thread, pc, static_cast<std::size_t>(p - fiber.block->shared), bytes);
  if (run->read != nullptr && !shared)
    for (std::size_t sector = device.offset(p) / 32; sector <= (device.offset(p) + bytes - 1) / 32; ++sector)
      (writes ? run->written : run->read)->insert(std::uint64_t{fiber.block->index} << 44 | sector);
  if (--run->budget == 0) {
    run->budget = 1 + random_bits() % (2 * static_cast<std::uint64_t>(settings().preempt));
    yield_fiber();
  }
  std::uint64_t states = 0;  // the common case: four or eight bytes, all written
  if (bytes == 4 || bytes == 8) std::memcpy(&states, device.state + device.offset(p), bytes);
  if (states != (bytes == 8 ? 0x0202020202020202u : 0x02020202u)) check_state(device, p, bytes, writes, pc);
  const std::size_t offset = device.offset(p);
  if (bytes < 4) {
    for (std::size_t k = 0; k < bytes; ++k) look(device, device.bytes[offset + k], fiber, p, writes, atomic, pc);
  } else {
    for (std::size_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word)
      look(device, device.words[word], fiber, p, writes, atomic, pc);
  }
}

}  // namespace

void check_atomic(const void* p, std::size_t bytes, const void* pc) {
  check(p, bytes, true, true, true, pc);
}

void check_range(Device& device, const void* p, std::size_t bytes, bool writes, const char* what) {
  const std::uint32_t who = static_cast<std::uint32_t>(running->stream->number) << 27 | kNobody;
  const auto apart = [&](const Tag& tag) {
    const std::uint32_t number = stream_of(tag.who);
    return tag.when != 0 && number != stream_of(who) && tag.when > running->known[number];
  };
  const std::size_t at = device.offset(p);
  for (std::size_t word = at / 4; word <= (at + bytes - 1) / 4; ++word) {
    Cell& cell = device.words[word];
    if (apart(cell.writer) || (writes && (apart(cell.reader[0]) || apart(cell.reader[1]) || apart(cell.reader[2])))) {
      report(std::string("race: ") + what + " and another stream's work");
      return;
    }
    (writes ? cell.writer : cell.reader[0]) = {who, running->start};
  }
}

}  // namespace stand_in

using stand_in::check;

extern "C" {

#define STAND_IN_CHECK(p, n, writes, aligned, atomic) check(p, n, writes, aligned, atomic, __builtin_return_address(0))
#define STAND_IN_ACCESS(n)                           \
  void __tsan_read##n(void* p) {                     \
    STAND_IN_CHECK(p, n, false, true, false);        \
  }                                                  \
  void __tsan_write##n(void* p) {                    \
    STAND_IN_CHECK(p, n, true, true, false);         \
  }                                                  \
  void __tsan_unaligned_read##n(void* p) {           \
    STAND_IN_CHECK(p, n, false, false, false);       \
  }                                                  \
  void __tsan_unaligned_write##n(void* p) {          \
    STAND_IN_CHECK(p, n, true, false, false);        \
  }                                                  \
  void __tsan_volatile_read##n(void* p) {            \
    STAND_IN_CHECK(p, n, false, true, true);         \
  }                                                  \
  void __tsan_volatile_write##n(void* p) {           \
    STAND_IN_CHECK(p, n, true, true, true);          \
  }                                                  \
  void __tsan_unaligned_volatile_read##n(void* p) {  \
    STAND_IN_CHECK(p, n, false, false, true);        \
  }                                                  \
  void __tsan_unaligned_volatile_write##n(void* p) { \
    STAND_IN_CHECK(p, n, true, false, true);         \
  }
STAND_IN_ACCESS(1)
STAND_IN_ACCESS(2)
STAND_IN_ACCESS(4)
STAND_IN_ACCESS(8)
STAND_IN_ACCESS(16)
void __tsan_read_range(void* p, unsigned long n) {
  STAND_IN_CHECK(p, n, false, false, false);
}
void __tsan_write_range(void* p, unsigned long n) {
  STAND_IN_CHECK(p, n, true, false, false);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void*) {}
void __tsan_vptr_update(void*, void*) {}

// Only the linker needs these functions. They belong to host code, which the device pass compiles too and never runs.
#define STAND_IN_ATOMIC(bits, T)                                                          \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                          \
  }                                                                                       \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) {                             \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                       \
  T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                   \
  }                                                                                       \
  T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) {                            \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                    \
  }                                                                                       \
  T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int) {                            \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                    \
  }                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* e, T d, int, int) { \
    return __atomic_compare_exchange_n(p, e, d, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
  }                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* e, T d, int, int) {   \
    return __atomic_compare_exchange_n(p, e, d, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
  }
STAND_IN_ATOMIC(8, unsigned char)
STAND_IN_ATOMIC(32, unsigned)
STAND_IN_ATOMIC(64, unsigned long)
void __tsan_atomic_thread_fence(int) {}

}  // extern "C"
