#include "host/ground/files/system_limits.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace pandora {

std::string remedy_of_limit(int reason) {
  switch (reason) {
    case EMFILE:
      return "raise the limit on open files (`ulimit -n`) and run again";
    case ENFILE:
      return "close some of the files that are open on this machine and run again";
    case EAGAIN:
      return "raise the limit on processes and threads (`ulimit -u`), or end some, and run again";
    default:
      return "";
  }
}

void require_resources(int reason, const std::string& what) {
  if (reason == ENOMEM) throw std::bad_alloc();
  if (const std::string remedy = remedy_of_limit(reason); !remedy.empty())
    throw LimitReached(fmt::format("{}: {}; {}", what, std::strerror(reason), remedy));
}

LimitReached no_further_thread(const std::string& option) {
  return LimitReached(
      option.empty()
          ? fmt::format("the system starts no further thread, or has no memory for one; {}", remedy_of_limit(EAGAIN))
          : fmt::format("{}: the system refuses so many threads, or memory for them; give fewer, or "
                        "raise the limit on processes and threads (`ulimit -u`)",
                        option));
}

std::uint64_t machine_memory(const Quotas& quotas) {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return quotas.memory;
  const std::uint64_t all = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes);
  return quotas.memory > 0 ? std::min(all, quotas.memory) : all;
}

std::uint64_t machine_memory() {
  return machine_memory(own_quotas());
}

}  // namespace pandora
