// How much memory this machine has.
#pragma once

#include <cstdint>

namespace pandora {

/// Bytes of physical memory; 0 where the system does not tell.
std::uint64_t machine_memory();

}  // namespace pandora
