// Assertions on shapes, ranges and alignment where code trusts its caller. They are compiled in for tests and
// sanitisers (the CMake option PANDORA_ASSERTIONS), and never in a release or on a device. A mistake that a user can
// make throws an Error instead.
#pragma once

#if defined(PANDORA_ASSERTIONS) && (!defined(__CUDA_ARCH__) || defined(PANDORA_STAND_IN))
#include <cstdio>
#include <cstdlib>

namespace pandora {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
  std::abort();
}

}  // namespace pandora

#define PANDORA_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : pandora::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define PANDORA_ASSERT(condition) static_cast<void>(0)
#endif
