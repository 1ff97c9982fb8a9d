// The threads that work on one item of a kernel: a block or a warp on the device, one thread on the CPU. A kernel body
// is written once for any Team:
//
//   template <class Team> PANDORA_HD void operator()(const Team& team, int item) const {
//     for (int i = team.rank(); i < n; i += team.size()) out[i] = f(i);   // elements among the members
//     team.sync();                                                       // before others read them
//     if (team.rank() == 0) ++count;
//   }
//
// Values that every member computes from the same memory are the same in every member. Loops over elements sum in the
// order of the elements, so what a body computes does not depend on the team's size unless it asks for it.
#pragma once

#include "kernels/hd.hpp"

namespace pandora {

/// One thread: how the bodies run on the CPU.
struct SerialTeam {
  PANDORA_HD int rank() const { return 0; }
  PANDORA_HD int size() const { return 1; }
  PANDORA_HD void sync() const {}
  /// member 0's value
  template <class T>
  PANDORA_HD T broadcast(T value) const {
    return value;
  }
};

#if defined(__CUDACC__)

/// 32 threads in step. The bodies of the members are device code only.
struct WarpTeam {
  __host__ __device__ int rank() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x % 32);
#else
    return 0;
#endif
  }
  __host__ __device__ int size() const {
    return 32;
  }
  __host__ __device__ void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#endif
  }
  template <class T>
  __host__ __device__ T broadcast(T value) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, value, 0);
#else
    return value;
#endif
  }
};

#if defined(__CUDA_ARCH__)
/// The shared memory that the launch gave the calling thread's block, aligned to 16 bytes.
__device__ inline void* shared_memory() {
#if defined(PANDORA_STAND_IN)
  return stand_in_shared_memory();
#else
  extern __shared__ uint4 memory[];
  return memory;
#endif
}
#endif

/// A whole block of at most 1,024 threads, a multiple of 32.
struct BlockTeam {
  static constexpr int kSharedBytes = 16;  ///< what a launch must give a block for it

  __host__ __device__ int rank() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
  __host__ __device__ int size() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(blockDim.x);
#else
    return 1;
#endif
  }
  __host__ __device__ void sync() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
  template <class T>
  __host__ __device__ T broadcast(T value) const {
#if defined(__CUDA_ARCH__)
    static_assert(sizeof(T) <= kSharedBytes);
    T* const shared = static_cast<T*>(shared_memory());
    __syncthreads();
    if (threadIdx.x == 0) *shared = value;
    __syncthreads();
    return *shared;
#else
    return value;
#endif
  }
};

#endif

/// list[counter++] = value, from member 0 of many teams at once; the order of the list is free.
PANDORA_HD inline void append(int* counter, int* list, int value) {
#if defined(__CUDA_ARCH__)
  list[atomicAdd(counter, 1)] = value;
#else
  list[(*counter)++] = value;
#endif
}

}  // namespace pandora
