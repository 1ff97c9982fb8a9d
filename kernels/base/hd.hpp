// Annotations of code that runs on the host and on the device.
#pragma once

#if defined(__CUDACC__)
#define PANDORA_HD __host__ __device__
#else
#define PANDORA_HD
#endif

// Each expands to its code only when compiling for a device, or only when not.
#if defined(__CUDA_ARCH__)
#define PANDORA_ON_DEVICE(there, elsewhere) there
#else
#define PANDORA_ON_DEVICE(there, elsewhere) elsewhere
#endif

// Always inlined, because some files are compiled with contraction of a b + c and others without, and the linker would
// keep one copy for both.
#if defined(__CUDACC__)
#define PANDORA_INLINE __forceinline__
#else
#define PANDORA_INLINE inline __attribute__((always_inline))
#endif
// The same for a lambda: a call inside a loop would prevent vectorisation.
#if defined(__CUDACC__)
#define PANDORA_INLINED
#else
#define PANDORA_INLINED __attribute__((always_inline))
#endif

// Keeps a large function out of line: inlined, it would take registers from its callers.
#if defined(__CUDA_ARCH__) && !defined(PANDORA_STAND_IN)
#define PANDORA_APART __noinline__
#else
#define PANDORA_APART
#endif

// Marks a loop over the width of a functor. Without it GCC unrolls the short loop completely before it looks for
// vectors, and the draws run ten times slower. (This uses -fopenmp-simd; there is no OpenMP runtime.)
#if defined(__CUDACC__) || !defined(PANDORA_SIMD_LOOPS)
#define PANDORA_SIMD
#else
#define PANDORA_SIMD _Pragma("omp simd")
#endif

// Unrolls the short loop that follows. Without it compilers keep small arrays of accumulators in memory.
#if defined(__CUDA_ARCH__) && !defined(PANDORA_STAND_IN)
#define PANDORA_UNROLL _Pragma("unroll")
#define PANDORA_ROLLED _Pragma("unroll 1")
#elif defined(__CUDACC__)
#define PANDORA_UNROLL
#define PANDORA_ROLLED
#else
#define PANDORA_ROLLED
#define PANDORA_UNROLL _Pragma("GCC unroll 16")
#endif
