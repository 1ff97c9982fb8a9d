// The stand-in's <cuda_runtime.h>: the part of CUDA's interface that pandora uses, run by the CPU (README.md says how).
// Both passes over a .cu file include it: the host pass, and the device pass, which has __CUDA_ARCH__.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

// The numbers are CUDA's.
enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorUnknown = 999,
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaComputeMode { cudaComputeModeDefault = 0, cudaComputeModeProhibited = 2, cudaComputeModeExclusiveProcess = 3 };
enum cudaDeviceAttr { cudaDevAttrComputeMode = 20 };
inline constexpr unsigned cudaStreamNonBlocking = 1;
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount, maxThreadsPerBlock;
  std::size_t totalGlobalMem;
};
namespace stand_in {
struct Stream;
}
using cudaStream_t = stand_in::Stream*;

extern "C" {
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaMemGetInfo(std::size_t*, std::size_t*);
cudaError_t cudaMalloc(void**, std::size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t);

// What kernels call (barriers.cpp, fibers.cpp).
void stand_in_block_barrier();
void stand_in_warp_barrier(unsigned mask);
void stand_in_shuffle(unsigned mask, void* value, std::size_t bytes, int source);
int stand_in_atomic_add(int* p, int value);
unsigned long long stand_in_atomic_add_wide(unsigned long long* p, unsigned long long value);
long long stand_in_clock();
void* stand_in_shared_memory();
// For tests: from now on remember what launches of kernels move whose names hold `part`; null: no longer. Then how many
// blocks the n-th of them had and how many bytes these read and wrote, in sectors of 32 bytes and each once per block;
// false where there was none or accesses are not looked at (fibers.cpp).
void stand_in_watch(const char* part);
bool stand_in_watched(int n, unsigned* blocks, std::size_t* read, std::size_t* written);
bool stand_in_looks();  ///< whether this build looks at accesses
// Of all launches that were watched: the ratio of wavefronts of shared memory to what they would be without conflicts,
// and the worst of the places of the code that take at least `least` of all; 0 where nothing was seen. Places above 1.5
// are printed.
double stand_in_wavefronts(double least, double* worst);
// What production code says of its memory (devices.cpp).
void stand_in_array(void* p, std::size_t bytes, std::size_t gap);  // an array with `gap` bytes of nobody's behind it
void stand_in_forget(void* p, std::size_t bytes, cudaStream_t stream);  // what lies there is of no use any more
}

namespace stand_in {

/// A kernel for the calling thread. `function` is the kernel as the device pass made it.
using Call = void (*)(void (*function)(), const void* parameters);

/// What a call keeps until its work is done; one owner, which sanitisers understand.
struct Keeps {
  virtual ~Keeps() = default;
};
using Kept = std::unique_ptr<const Keeps>;
template <class T>
struct KeepsValue : Keeps {
  explicit KeepsValue(T v) : value(std::move(v)) {}
  T value;
};

cudaError_t launch(void (*stub)(), Call call, Kept kept, const void* parameters, dim3 grid, dim3 block,
                   std::size_t shared_bytes, cudaStream_t stream);

/// Dynamic shared memory that launches of the kernel may ask for on the current device.
cudaError_t allow_shared(void (*stub)(), int bytes);

/// Blocks of the kernel that a multiprocessor has room for.
cudaError_t resident_blocks(int* blocks, void (*stub)(), int threads, std::size_t shared_bytes);

struct Indices {
  unsigned thread, block, threads, blocks;
};
#if defined(STAND_IN_FAST)
extern __thread Indices indices;
inline Indices current_indices() {
  return indices;
}
#else
Indices current_indices();  // not inlined: its reads are not the kernel's
#endif

}  // namespace stand_in

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute, int value) {
  return stand_in::allow_shared(reinterpret_cast<void (*)()>(kernel), value);
}

template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(Parameters...), int threads,
                                                          std::size_t shared_bytes) {
  return stand_in::resident_blocks(blocks, reinterpret_cast<void (*)()>(kernel), threads, shared_bytes);
}

// As CUDA 12 declares it: no type of a function is deduced from const T*, so that a launch without one fails here, too.
template <class Kernel>
cudaError_t cudaLaunchKernel(const Kernel* kernel, dim3 grid, dim3 block, void** addresses, std::size_t shared_bytes,
                             cudaStream_t stream) {
  return [&]<class... Parameters>(void (*)(Parameters...)) {
    static_assert((sizeof(Parameters) + ... + 0) <= 4096, "the parameters of a kernel take at most 4 KiB");
    using Values = std::tuple<Parameters...>;
    std::size_t k = 0;
    auto kept = std::make_unique<stand_in::KeepsValue<Values>>(Values{*static_cast<Parameters*>(addresses[k++])...});
    const void* const values = &kept->value;
    return stand_in::launch(
        reinterpret_cast<void (*)()>(kernel),
        [](void (*function)(), const void* parameters) {
          std::apply(reinterpret_cast<Kernel*>(function), *static_cast<const Values*>(parameters));
        },
        std::move(kept), values, grid, block, shared_bytes, stream);
  }(kernel);
}

#define threadIdx (uint3{::stand_in::current_indices().thread, 0, 0})
#define blockIdx (uint3{::stand_in::current_indices().block, 0, 0})
#define blockDim (uint3{::stand_in::current_indices().threads, 1, 1})
#define gridDim (uint3{::stand_in::current_indices().blocks, 1, 1})

inline void __syncthreads() {
  stand_in_block_barrier();
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  stand_in_warp_barrier(mask);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int = 32) {
  static_assert(std::is_arithmetic_v<T>, "what CUDA's shuffle takes");
  stand_in_shuffle(mask, &value, sizeof value, source);
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int = 32) {
  return __shfl_sync(mask, value, static_cast<int>(threadIdx.x % 32) ^ lanes);
}
inline unsigned __ballot_sync(unsigned mask, int holds) {
  unsigned out = holds != 0 ? 1u << threadIdx.x % 32 : 0u;
  for (int lanes = 1; lanes < 32; lanes *= 2) out |= __shfl_xor_sync(mask, out, lanes);
  return out;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
inline int atomicAdd(int* p, int value) {
  return stand_in_atomic_add(p, value);
}
inline unsigned long long atomicAdd(unsigned long long* p, unsigned long long value) {
  return stand_in_atomic_add_wide(p, value);
}
inline long long clock64() {
  return stand_in_clock();
}
