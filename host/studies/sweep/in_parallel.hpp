// Independent pieces of work on some threads.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "host/ground/files/system_limits.hpp"

namespace pandora {

/// Calls body(0), ..., body(n - 1) on some threads, 0 for all cores, and rethrows the first failure. Throws
/// LimitReached where the system refuses the threads.
template <class Body>
void in_parallel(int threads, std::size_t n, Body&& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto fail = [&](std::exception_ptr with) {
    const std::lock_guard guard(mutex);
    if (!failure) failure = with;
    next = n;
  };
  std::vector<std::thread> workers;
  try {
    const std::size_t count = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
    for (std::size_t i = 0; i < std::clamp<std::size_t>(count, 1, n); ++i)
      workers.emplace_back([&] {
        try {
          for (std::size_t k = next++; k < n; k = next++) body(k);
        } catch (...) {
          fail(std::current_exception());
        }
      });
  } catch (const std::system_error&) {
    fail(std::make_exception_ptr(no_further_thread(threads > 1 ? fmt::format("--threads {}", threads) : "")));
  } catch (...) {  // those that were started must be waited for
    fail(std::current_exception());
  }
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pandora
