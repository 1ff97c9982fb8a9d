// Threads that work on one task; the first failure ends all.
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
  /// Starts a thread for each body and waits until all have ended. Throws the first failure. If the system gives no
  /// further thread, throws LimitReached with the option that sets their number (empty: there is none).
  void run_all(const std::vector<std::function<void()>>& bodies, const std::string& option) {
    std::vector<std::jthread> threads;
    guarded([&] {  // the threads that did start must be waited for
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
