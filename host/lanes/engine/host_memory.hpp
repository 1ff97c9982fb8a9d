// What a backend in host memory has: the memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace pandora::engine {

class HostMemory {
 public:
  struct Delete {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<void, Delete> allocate(std::size_t bytes) {
    return std::unique_ptr<void, Delete>(::operator new (bytes, std::align_val_t{kAlignment}));
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // an empty list has no address
  }
  void download(void* to, const void* from, std::size_t bytes) { upload(to, from, bytes); }
  void zero(void* p, std::size_t bytes) { std::memset(p, 0, bytes); }
  void forget(void*, std::size_t) {}

 private:
  static constexpr std::size_t kAlignment = 256;
};

}  // namespace pandora::engine
