// Declarations that the parts of the stand-in share.
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

/// The settings in the environment, such as STAND_IN_DEVICES; README.md explains them.
struct Settings {
  int devices = 2, multiprocessors = 2, block = 64, preempt = 0;
  std::size_t memory = std::size_t{2} << 30;
  enum Order { late, eager, random } order = late;
  std::uint64_t seed = 1;
  bool keys = true, first = false;
  std::string fail, exclusive, resources;
};
const Settings& settings();
/// The number of allocations for which there was no room, and the most bytes in use on a device. STAND_IN_TALK prints
/// them at the end.
extern std::atomic<std::size_t> refused, most;

std::uint64_t random_bits();  ///< from a sequence of the calling thread's own

/// Prints a defect of the program under test, once for each place. The process then ends with status kDefects.
void report(const std::string& what, const void* pc = nullptr);
inline constexpr int kDefects = 86;

/// Whether this call or this work shall fail, by STAND_IN_FAIL.
bool fails(const char* kind);

/// Returns "function at file:line" for a return address. Functions that were inlined there come too, innermost first.
std::string source_of(const void* pc);

inline constexpr std::size_t kPage = 4096;
inline constexpr int kStreams = 31;  ///< the most streams of a device at a time; a tag has room for this number

/// The state of a byte of device memory.
enum State : std::uint8_t { nobodys = 0, rubbish = 1, written = 2, freed = 3, gap = 4 };

/// Who touched a word last, and when. `who` has the stream (5 bits), whether the access was atomic (1), the block (16)
/// and the thread (10). `when` is the device's clock.
struct Tag {
  std::uint32_t who = 0, when = 0;
};
struct Cell {
  Tag writer, reader[3];  // the last two readers, and the last one from another block
};

struct Device {
  int id = 0;
  char* base = nullptr;  ///< where all its memory begins; no address is used twice
  std::size_t size = 0, next = 0, used = 0;
  std::uint8_t* state = nullptr;  ///< a State per byte
  Cell *words = nullptr,
       *bytes = nullptr;                ///< for 4 bytes each; for narrower accesses, for each byte; null without checks
  std::atomic<std::uint32_t> clock{1};  ///< barriers, launches and waits advance it
  std::atomic<int> fault{0};            ///< a cudaError_t that every later call returns
  bool context = false;
  std::mutex mutex;
  std::map<char*, std::size_t> live, gone;  // allocations
  std::vector<std::shared_ptr<Stream>> streams = std::vector<std::shared_ptr<Stream>>(kStreams);
  std::atomic<std::uint32_t> known[kStreams] = {};  ///< the time until which the host knows a stream's work to be done
  int key = -1, open = 0;  // protection key; without keys, how many threads work for the device

  bool holds(const void* p) const { return static_cast<std::size_t>(static_cast<const char*>(p) - base) < size; }
  std::size_t offset(const void* p) const { return static_cast<std::size_t>(static_cast<const char*>(p) - base); }
};
std::vector<Device*>& devices();
Device* device_of(const void* p);
Device* current_device();

/// Takes `bytes` of a device's memory, with pages around them that nobody may touch. Returns null if no addresses are
/// left. The caller must hold the device's mutex.
char* take_pages(Device&, std::size_t bytes);

/// While such an object lives, the calling thread may touch the device's memory.
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

/// Adds work to a stream's queue. It runs on the stream's thread, with access to its device's memory. `kept` lives
/// until it has run.
cudaError_t enqueue(cudaStream_t stream, const char* what, std::function<void()> run, Kept kept = nullptr);
/// Such work must call this for all memory that it reads or writes. `over_gaps`: it may also touch the gaps between the
/// arrays of an arena.
void touch(const void* p, std::size_t bytes, bool writes, const char* what, bool over_gaps = false);

/// The work of the calling thread; null outside of a stream's thread.
struct Running {
  Stream* stream;
  const std::uint32_t* known;
  std::uint32_t start;
};
extern __thread Running* running;

/// A kernel that was launched.
struct Launch {
  std::string name;
  Call call;
  void (*function)();
  const void* parameters;
  unsigned grid, threads;
  std::size_t shared_bytes;
};
void run_kernel(const Launch&);  ///< fibers.cpp
/// The kernel, block and thread that the calling thread runs, as a text; empty outside of kernels.
std::string place_in_kernel();

}  // namespace stand_in
