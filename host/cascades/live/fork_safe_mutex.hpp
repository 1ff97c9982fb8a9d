// A lock for what a forked child goes on using.
#pragma once

#include <cstdint>
#include <mutex>

namespace pandora {

/// A fork waits until nobody holds one of these, so that in the child none is held by a thread that is not there, and
/// what it guards is whole. Nobody may make or destroy one while holding another.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() {
    const std::lock_guard first(gate_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

  void begin_fork() {
    gate_.lock();
    mutex_.lock();
  }
  void end_fork() {
    mutex_.unlock();
    gate_.unlock();
  }

 private:
  std::mutex gate_;  // who waits holds it, so that a thread which locks again and again lets others in, and a fork
  std::mutex mutex_;
};

/// Of which this process comes, since the first ForkSafeMutex was made.
std::uint64_t forks_before();

}  // namespace pandora
