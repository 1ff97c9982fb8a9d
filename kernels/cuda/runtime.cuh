// The only place that calls the CUDA runtime for device memory, streams, copies, launches and cuBLAS. Everything here
// throws DeviceError with CUDA's reason, or OutOfMemory where memory is short.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/base/error.hpp"

namespace pandora::cuda {

/// Throws DeviceError with the call and CUDA's reason, or OutOfMemory(0) if CUDA is out of memory.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

/// Makes `device` the calling thread's current device, which creates a context on it. Nothing here touches another
/// device.
void select_device(int device);

/// Free bytes in the current device's memory.
std::size_t free_memory();

/// Memory on the device that is current when the object is made.
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

/// Which stream's blocks of threads a device starts first when those of several streams wait for room.
enum class Precedence { usual, first };

/// A queue of work that a device does in order, independently of other streams.
class Stream {
 public:
  explicit Stream(Precedence precedence = Precedence::usual);
  Stream(const Stream&) = delete;
  ~Stream();

  cudaStream_t get() const { return stream_; }
  void wait(const char* what) const;
  // These copies return once the bytes have arrived.
  void upload(void* to, const void* from, std::size_t bytes) const;
  void download(void* to, const void* from, std::size_t bytes) const;
  // The following calls return at once; the work happens in the stream's order.
  void copy(void* to, const void* from, std::size_t bytes) const;  ///< within the device
  void zero(void* p, std::size_t bytes) const;
  /// Tells the stand-in (tests/cuda_stand_in) that the bytes at p are no longer needed.
  void forget(void* p, std::size_t bytes) const;

  /// How many blocks of the kernel fit on a multiprocessor of the current device.
  template <class... Parameters>
  int resident(const char* name, void (*kernel)(Parameters...), int threads, std::size_t shared_bytes) const {
    int blocks = 0;
    allow_shared(name, kernel, shared_bytes);
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), name);
    return blocks;
  }

  /// kernel<<<grid, threads, shared_bytes>>>(arguments...); `name` stands in error messages. CUDA reads the parameters
  /// before this returns; the kernel runs later.
  template <class... Parameters>
  void launch(const char* name, void (*kernel)(Parameters...), int grid, int threads, std::size_t shared_bytes,
              std::type_identity_t<Parameters>... arguments) const {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...), "parameters are copied byte by byte");
    allow_shared(name, kernel, shared_bytes);
    void* addresses[] = {&arguments...};
    // The template argument is explicit because CUDA 12 declares a const T*, from which a function's type is not
    // deduced.
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

/// The functions of cuBLAS that are used. The library is loaded when the first handle is made, so that a run on the CPU
/// does not spend its 0.2 GiB of memory.
struct CublasFunctions {
  decltype(&cublasCreate) create;
  decltype(&cublasDestroy) destroy;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasGetStatusString) status_string;
  decltype(&cublasSgemm) sgemm;
  decltype(&cublasSgemmBatched) sgemm_batched;
};

/// Loads the library at the first call. Throws Error (device) if it is not found.
const CublasFunctions& cublas_functions();

/// A cuBLAS handle for full single precision, on a stream of the device that is current when the handle is made.
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
