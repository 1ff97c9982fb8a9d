#include "host/ground/machine/memory.hpp"

#include <unistd.h>

namespace pandora {

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace pandora
