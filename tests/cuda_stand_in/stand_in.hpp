// What the parts of the stand-in share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda_runtime.h"

namespace stand_in {

/// From the environment: STAND_IN_DEVICES and so on, see README.md.
struct Settings {
  int devices = 2, multiprocessors = 2, block = 64, preempt = 0;
  std::size_t memory = std::size_t{2} << 30;
  enum Order { late, eager, random } order = late;
  std::uint64_t seed = 1;
  bool keys = true, first = false;
  std::string fail, exclusive, resources;
};
const Settings& settings();
/// Told at the end with STAND_IN_TALK: allocations for which there was no room, and the most in use on a device.
extern std::atomic<std::size_t> refused, most;

std::uint64_t random_bits();  ///< of the calling thread's own sequence

/// A defect of the program under test: printed once per place; the process then ends with status kDefects.
void report(const std::string& what, const void* pc = nullptr);
inline constexpr int kDefects = 86;

/// Whether this call is to fail, or this work to die (STAND_IN_FAIL).
bool fails(const char* kind);

/// "function at file:line" of a return address, with what was inlined there, innermost first.
std::string source_of(const void* pc);

inline constexpr std::size_t kPage = 4096;
inline constexpr int kStreams = 31;  ///< at a time on a device: a stream's number is part of a tag

/// Of a byte of device memory.
enum State : std::uint8_t { nobodys = 0, rubbish = 1, written = 2, freed = 3, gap = 4 };

/// Who touched a word last and when: stream (5 bits), atomically (1), block (16), thread (10); the device's clock.
struct Tag {
  std::uint32_t who = 0, when = 0;
};
struct Cell {
  Tag writer, reader[3];  // the last two readers, and the last one of another block than the last
};

struct Device {
  int id = 0;
  char* base = nullptr;  ///< of all its memory; no address is used twice
  std::size_t size = 0, next = 0, used = 0;
  std::uint8_t* state = nullptr;  ///< a State per byte
  Cell *words = nullptr,
       *bytes = nullptr;                ///< per 4 bytes, and per byte for narrower accesses; null where nobody looks
  std::atomic<std::uint32_t> clock{1};  ///< moved on by barriers, launches and waits
  std::atomic<int> fault{0};            ///< a cudaError_t that stays
  bool context = false;
  std::mutex mutex;
  std::map<char*, std::size_t> live, gone;  // allocations
  std::vector<std::shared_ptr<Stream>> streams = std::vector<std::shared_ptr<Stream>>(kStreams);
  std::atomic<std::uint32_t> known[kStreams] = {};  ///< until when the host knows a stream's work to be done
  int key = -1, open = 0;  // protection key; without keys, how many threads work for the device

  bool holds(const void* p) const { return static_cast<std::size_t>(static_cast<const char*>(p) - base) < size; }
  std::size_t offset(const void* p) const { return static_cast<std::size_t>(static_cast<const char*>(p) - base); }
};
std::vector<Device*>& devices();
Device* device_of(const void* p);
Device* current_device();

/// `bytes` of a device's memory with pages that nobody may touch around them; null where addresses are used up. The
/// device's mutex is held.
char* take_pages(Device&, std::size_t bytes);

/// While one lives, the calling thread may touch the device's memory.
class Access {
 public:
  explicit Access(Device& device);
  ~Access();

 private:
  Device& device_;
};

struct Stream {
  Device* device;
  int number;
  std::mutex mutex;
  std::condition_variable changed;
  struct Work {
    std::function<void()> run;
    std::uint32_t known[kStreams];
    Kept kept;
  };
  std::deque<Work> queue;
  std::uint64_t enqueued = 0, done = 0, goal = 0;
  bool stop = false;
  std::thread thread;
};

/// Work in a stream's order; it runs on the stream's thread, with access to its device's memory. `kept` lives until
/// then.
cudaError_t enqueue(cudaStream_t stream, const char* what, std::function<void()> run, Kept kept = nullptr);
/// To be called in such work for all memory that it reads or writes; `over_gaps`: also between the arrays of an arena.
void touch(const void* p, std::size_t bytes, bool writes, const char* what, bool over_gaps = false);

/// What the calling thread works on; null outside of a stream's thread.
struct Running {
  Stream* stream;
  const std::uint32_t* known;
  std::uint32_t start;
};
extern __thread Running* running;

/// A kernel on its way.
struct Launch {
  std::string name;
  Call call;
  void (*function)();
  const void* parameters;
  unsigned grid, threads;
  std::size_t shared_bytes;
};
void run_kernel(const Launch&);  ///< fibers.cpp
/// Kernel, block and thread that the calling thread runs; empty outside of kernels.
std::string place_in_kernel();

}  // namespace stand_in
