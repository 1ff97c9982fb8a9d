// Limits that the system sets on a process: open files, processes and threads. None is a fault of a file or of memory.
// How much memory there is.
#pragma once

#include <cstdint>
#include <string>

#include "host/ground/base/error.hpp"
#include "host/ground/base/quotas.hpp"

namespace pandora {

/// Exit code 4. Says which limit it is and how to raise it.
struct LimitReached : Error {
  explicit LimitReached(const std::string& message) : Error(ExitCode::device, message) {}
};

/// How the limit behind the system's error number is raised; empty where the number is of none.
std::string remedy_of_limit(int reason);

/// Returns where `reason` (an errno) is neither want of memory, then it throws std::bad_alloc, nor a limit, then
/// LimitReached: "<what>: <the system's reason>; <remedy>".
void require_resources(int reason, const std::string& what);

/// The system starts no further thread; `option` is such as option("threads", 4), empty where no option says how many.
LimitReached no_further_thread(const std::string& option);

/// Bytes of physical memory, or of the container's quota if that is less; 0 where the system does not tell.
std::uint64_t machine_memory();
std::uint64_t machine_memory(const Quotas& quotas);

}  // namespace pandora
