#pragma once

#include <cuda_runtime.h>

namespace thrust::cuda {

/// par_nosync(allocator).on(stream): scratch from the allocator, and nothing waits for the end.
template <class Allocator>
struct Policy {
  Allocator& allocator;
  cudaStream_t stream = nullptr;
  Policy on(cudaStream_t s) const { return {allocator, s}; }
};
template <class Allocator>
Policy<Allocator> par_nosync(Allocator& allocator) {
  return {allocator};
}

}  // namespace thrust::cuda
