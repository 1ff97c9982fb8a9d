// Runs independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "host/ground/base/quotas.hpp"

namespace pandora {

/// Calls body(0), ..., body(n - 1) on this thread and on others, `threads` in all (0: usable_cores()), and rethrows the
/// first failure. If the system starts no further thread, the existing ones do the rest.
template <class Body>
void in_parallel(std::size_t threads, std::size_t n, Body&& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t k = next++; k < n; k = next++) body(k);
    } catch (...) {
      const std::lock_guard guard(mutex);
      if (!failure) failure = std::current_exception();
      next = n;
    }
  };
  if (threads == 0) threads = static_cast<std::size_t>(usable_cores());
  std::vector<std::jthread> others;
  try {
    for (std::size_t t = 1; t < std::min(threads, n); ++t) others.emplace_back(work);
  } catch (const std::system_error&) {  // no further thread
  }
  work();
  others.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pandora
