#include "host/cascades/live/fork_safe_mutex.hpp"

#include <pthread.h>

#include <atomic>
#include <set>

namespace pandora {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<ForkSafeMutex*> all;
  std::atomic<std::uint64_t> forks = 0;  // read by threads that hold a lock, which a fork may wait for
};

Registry& registry() {
  static Registry& made = *[] {
    auto* const out = new Registry;  // lives on: threads may outlast what is destroyed at exit
    ::pthread_atfork(
        [] {
          registry().mutex.lock();
          for (ForkSafeMutex* const one : registry().all) one->begin_fork();
        },
        [] {
          for (ForkSafeMutex* const one : registry().all) one->end_fork();
          registry().mutex.unlock();
        },
        [] {
          for (ForkSafeMutex* const one : registry().all) one->end_fork();
          ++registry().forks;
          registry().mutex.unlock();
        });
    return out;
  }();
  return made;
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.all.insert(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.all.erase(this);
}

std::uint64_t forks_before() {
  return registry().forks;
}

}  // namespace pandora
