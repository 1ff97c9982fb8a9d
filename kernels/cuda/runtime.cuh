// The one place that talks to the CUDA runtime about what it owns: device memory, streams, copies, launches and cuBLAS.
// Everything here throws DeviceError with CUDA's reason, and OutOfMemory where memory is what lacks.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/base/error.hpp"

namespace pandora::cuda {

/// Throws DeviceError naming the call and CUDA's reason, OutOfMemory(0) if CUDA says that memory lacks.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

/// Makes `device` the calling thread's, which makes a context on it: nothing here touches another device.
void select_device(int device);

/// Bytes of the current device's memory that are free.
std::size_t free_memory();

/// Device memory of the device that is current when it is made.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);  ///< throws OutOfMemory
  Memory(Memory&& other) noexcept : p_(std::exchange(other.p_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(p_, other.p_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  void* get() const { return p_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* p_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Whose blocks of threads a device starts where those of several streams wait for room.
enum class Precedence { usual, first };

/// What happens in order on a device, beside what other streams do.
class Stream {
 public:
  explicit Stream(Precedence precedence = Precedence::usual);
  Stream(const Stream&) = delete;
  ~Stream();

  cudaStream_t get() const { return stream_; }
  void wait(const char* what) const;
  // Copies return when the bytes are there.
  void upload(void* to, const void* from, std::size_t bytes) const;
  void download(void* to, const void* from, std::size_t bytes) const;
  // The rest happens in the stream's order.
  void copy(void* to, const void* from, std::size_t bytes) const;  ///< within the device
  void zero(void* p, std::size_t bytes) const;
  /// What lies there is of no use any more: the stand-in (tests/cuda_stand_in) is told.
  void forget(void* p, std::size_t bytes) const;

  /// Blocks of the kernel that a multiprocessor of the current device has room for.
  template <class... Parameters>
  int resident(const char* name, void (*kernel)(Parameters...), int threads, std::size_t shared_bytes) const {
    int blocks = 0;
    allow_shared(name, kernel, shared_bytes);
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), name);
    return blocks;
  }

  /// kernel<<<grid, threads, shared_bytes>>>(arguments...); `name` is what an error calls it. CUDA reads the
  /// parameters before this returns; the kernel runs later.
  template <class... Parameters>
  void launch(const char* name, void (*kernel)(Parameters...), int grid, int threads, std::size_t shared_bytes,
              std::type_identity_t<Parameters>... arguments) const {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...), "parameters are copied byte by byte");
    allow_shared(name, kernel, shared_bytes);
    void* addresses[] = {&arguments...};
    // The type is named because CUDA 12 declares a const T*, from which that of a function is not deduced.
    check(cudaLaunchKernel<void(Parameters...)>(kernel, dim3(static_cast<unsigned>(grid)),
                                                dim3(static_cast<unsigned>(threads)), addresses, shared_bytes, stream_),
          name);
  }

 private:
  template <class... Parameters>
  static void allow_shared(const char* name, void (*kernel)(Parameters...), std::size_t bytes) {
    constexpr std::size_t kUnasked = std::size_t{48} << 10;
    if (bytes > kUnasked)
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), name);
  }

  cudaStream_t stream_ = nullptr;
};

/// What is used of cuBLAS. The library is loaded when the first handle is made: a run on the CPU does without its
/// 0.2 GiB of memory.
struct CublasFunctions {
  decltype(&cublasCreate) create;
  decltype(&cublasDestroy) destroy;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasGetStatusString) status_string;
  decltype(&cublasSgemm) sgemm;
  decltype(&cublasSgemmBatched) sgemm_batched;
};

/// Loads the library at the first call. Throws Error (device) where there is none.
const CublasFunctions& cublas_functions();

/// A handle for products in full single precision on a stream of the device that is current when it is made.
class Cublas {
 public:
  explicit Cublas(const Stream& stream);
  Cublas(const Cublas&) = delete;
  ~Cublas();

  cublasHandle_t get() const { return handle_; }
  const CublasFunctions* operator->() const { return &cublas_functions(); }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace pandora::cuda
