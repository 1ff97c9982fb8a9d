// One allocation of a backend, cut into arrays. The stand-in for CUDA (tests/cuda_stand_in) and the address sanitiser
// are told where each array starts and ends. They then report an access beyond an array, not only one beyond the
// allocation.
#pragma once

#include <cstddef>

#include "kernels/base/sanitisers.hpp"

#if defined(PANDORA_ADDRESS_SANITISER)
#include <sanitizer/asan_interface.h>
#endif

namespace pandora {

#if defined(PANDORA_STAND_IN)
extern "C" void stand_in_array(void* p, std::size_t bytes, std::size_t gap);
inline constexpr std::size_t kArrayGap = 512;  ///< unused bytes behind every array
inline void mark_array(void* p, std::size_t bytes) {
  stand_in_array(p, bytes, kArrayGap);
}
#elif defined(PANDORA_ADDRESS_SANITISER)
inline constexpr std::size_t kArrayGap = 256;
inline void mark_array(void* p, std::size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(p) + bytes, kArrayGap);
}
#else
inline constexpr std::size_t kArrayGap = 0;
inline void mark_array(void*, std::size_t) {}
#endif

/// An arena without memory only counts how many bytes its arrays need.
class Arena {
 public:
  explicit Arena(void* base = nullptr) : base_(static_cast<char*>(base)) {}

  /// An array of n elements, aligned to 256 bytes.
  template <class T>
  T* take(std::size_t n) {
    used_ = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    char* const at = base_ != nullptr ? base_ + used_ : nullptr;
    if (at != nullptr) mark_array(at, n * sizeof(T));
    used_ += n * sizeof(T) + kArrayGap;
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kAlignment = 256;
  char* base_;
  std::size_t used_ = 0;
};

}  // namespace pandora
