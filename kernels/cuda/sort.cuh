// The CUDA backend with a sort, which only the preparation of a replication needs.
#pragma once

#include <thrust/functional.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <new>
#include <vector>

#include "kernels/cuda/cuda_backend.cuh"

namespace pandora::cuda {

/// Scratch memory that is kept from one sort to the next, because cudaFree would wait for everything that runs on the
/// device. Streams must not share it.
class SortMemory {
 public:
  using value_type = char;

  SortMemory() = default;
  SortMemory(const SortMemory&) = delete;
  char* allocate(std::ptrdiff_t bytes) {
    const std::size_t wanted = static_cast<std::size_t>(bytes);
    for (Piece& piece : pieces_)
      if (!piece.used && piece.memory.bytes() >= wanted) {
        piece.used = true;
        return static_cast<char*>(piece.memory.get());
      }
    pieces_.push_back({Memory(wanted), true});
    return static_cast<char*>(pieces_.back().memory.get());
  }
  void deallocate(char* p, std::size_t) {
    for (Piece& piece : pieces_)
      if (piece.memory.get() == p) piece.used = false;
  }

 private:
  struct Piece {
    Memory memory;
    bool used;
  };
  std::vector<Piece> pieces_;
};

/// One device and one stream, for one thread. Its short launches go before those of lanes, which fill the device for as
/// long as there are any.
class PrepareBackend : public CudaBackend {
 public:
  explicit PrepareBackend(int device) : CudaBackend(device, Precedence::first) {}

  /// Sorts p[0..n) on the backend's stream in descending order.
  void sort_descending(float* p, std::size_t n) {
    try {
      thrust::sort(thrust::cuda::par_nosync(memory_).on(stream().get()), p, p + n, thrust::greater<float>());
    } catch (const thrust::system_error& error) {
      check(static_cast<cudaError_t>(error.code().value()), "sorting");
      throw;
    }
  }

 private:
  SortMemory memory_;
};

}  // namespace pandora::cuda
