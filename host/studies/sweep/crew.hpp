// Threads that work on one thing: the first failure ends all.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "host/ground/files/system_limits.hpp"

namespace pandora {

class Crew {
 protected:
  /// A thread for each body, until all have ended. Throws what the first of them throws, and LimitReached, which names
  /// the option that asks for so many (empty: none does), where the system gives no further thread.
  void run_all(const std::vector<std::function<void()>>& bodies, const std::string& option) {
    std::vector<std::jthread> threads;
    guarded([&] {  // those that were started must be waited for
      try {
        for (const auto& body : bodies) threads.emplace_back([this, &body] { guarded(body); });
      } catch (const std::system_error&) {
        throw no_further_thread(option);
      }
    });
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

  template <class Body>
  void guarded(Body&& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
};

}  // namespace pandora
