// Limits that the system sets on a process: open files, processes and threads. Reaching one is no fault of a file or of
// memory. Also the size of the machine's memory.
#pragma once

#include <cstdint>
#include <string>

#include "host/ground/base/error.hpp"
#include "host/ground/base/quotas.hpp"

namespace pandora {

/// Exit code 4. The message says which limit it is and how to raise it.
struct LimitReached : Error {
  explicit LimitReached(const std::string& message) : Error(ExitCode::device, message) {}
};

/// How to raise the limit behind the system's error number; empty if that number means no limit.
std::string remedy_of_limit(int reason);

/// Checks `reason` (an errno). Throws std::bad_alloc for a lack of memory, and LimitReached "<what>: <the system's
/// reason>; <remedy>" for a limit. Otherwise it returns.
void require_resources(int reason, const std::string& what);

/// The error for a system that starts no further thread. `option` is such as option("threads", 4), or empty if no
/// option sets the number.
LimitReached no_further_thread(const std::string& option);

/// Bytes of physical memory, or of the container's quota if that is less; 0 if the system does not tell.
std::uint64_t machine_memory();
std::uint64_t machine_memory(const Quotas& quotas);

}  // namespace pandora
