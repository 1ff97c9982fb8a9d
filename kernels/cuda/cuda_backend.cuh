// The CUDA backend of the lockstep engine: launchers, buffers, handles. This is all that only a GPU can run; the bodies
// that it launches are tested on the CPU.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "kernels/error.hpp"
#include "kernels/lockstep/kernels.hpp"

namespace pandora::cuda {

/// Throws Error (device) naming the call and CUDA's reason.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

/// cudaMalloc; throws OutOfMemory.
void* allocate_memory(std::size_t bytes);

inline constexpr int kBlockThreads = 256;  // of a block that works on one item
inline constexpr int kWarpThreads = 128;   // of a block whose warps have an item each
inline constexpr int kBatch = 4096;        // matrices of a batched product

template <class Body>
__global__ void __launch_bounds__(kBlockThreads) run_blocks(Body body, int items) {
  for (int item = blockIdx.x; item < items; item += gridDim.x) {
    body(BlockTeam{}, item, static_cast<int>(blockIdx.x));
    __syncthreads();
  }
}

template <class Body>
__global__ void __launch_bounds__(kWarpThreads) run_warps(Body body, int items) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (int item = warp; item < items; item += gridDim.x * blockDim.x / 32) {
    body(WarpTeam{}, item, -1);  // more warps than slots: their bodies have no scratch
    __syncwarp();
  }
}

/// The operands of a block's batched products; beyond the last matrix, operands whose results nobody reads.
template <class Real>
struct GatherOperands {
  lockstep::FormBlock<Real> form;
  int matrices;
  const Real **P, **psi;
  Real **image, **gram;
  Real *spare_image, *spare_gram;

  __host__ __device__ void operator()(int item) const {
    const int which = form.matrices[item < matrices ? item : 0];
    const lockstep::Shape& shape = form.problem.shape;
    const lockstep::LaneView<Real>& lane = form.problem.lanes[which / 2 / shape.A];
    const lockstep::BoxView<Real>& box = lane.box[which / 2 % shape.A];
    const lockstep::GramView<Real>& g = which % 2 == 1 ? box.curvature : box.design;
    P[item] = g.P;
    psi[item] = lane.tape.psi_of(lane.tape.online_row(form.range.first_period), shape.stride);
    image[item] = item < matrices ? g.image : spare_image;
    gram[item] = item < matrices ? g.gram : spare_gram;
  }
};

template <class Body>
__global__ void run_threads(Body body, int items) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < items) body(item);
}

/// One device, one stream. To be used by the thread that makes it: CUDA's current device belongs to a thread.
class CudaBackend {
 public:
  explicit CudaBackend(int device);
  ~CudaBackend();
  CudaBackend(const CudaBackend&) = delete;

  void* allocate(std::size_t bytes);
  void release(void* p);
  void upload(void* to, const void* from, std::size_t bytes);
  void download(void* to, const void* from, std::size_t bytes);
  void zero(void* p, std::size_t bytes);
  std::size_t free_bytes() const;

  template <class Body>
  void blocks(int items, const Body& body) {
    if (items == 0) return;
    const int grid = std::min(items, slots());
    timed(Body::kName, [&] {
      run_blocks<<<grid, kBlockThreads, 0, stream_>>>(body, items);
      check(cudaGetLastError(), Body::kName);
    });
  }
  template <class Body>
  void warps(int items, const Body& body) {
    if (items == 0) return;
    constexpr int kPerBlock = kWarpThreads / 32;
    const int grid = (items + kPerBlock - 1) / kPerBlock;
    timed(Body::kName, [&] {
      run_warps<<<grid, kWarpThreads, 0, stream_>>>(body, items);
      check(cudaGetLastError(), Body::kName);
    });
  }
  template <class Body>
  void threads(int items, const Body& body) {
    if (items == 0) return;
    const int grid = (items + kBlockThreads - 1) / kBlockThreads;
    run_threads<<<grid, kBlockThreads, 0, stream_>>>(body, items);
    check(cudaGetLastError(), "a kernel's launch");
  }

  /// Images P Psi and Gram matrices Psi' P Psi of all listed matrices: two batched products. Column-major, an m x B
  /// image with leading dimension `stride` is the row-major B x stride that the bodies read; P is symmetric.
  void form(const lockstep::FormBlock<float>& body, int matrices);

  int slots() const { return slots_; }
  int block_size() const { return kBlockThreads; }
  cudaStream_t stream() const { return stream_; }

  /// Seconds per stage since the profile was switched on, by its kName; switched on, every stage waits for its end.
  void profile(bool on) { profiling_ = on; }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  template <class Stage>
  void timed(const char* name, Stage&& stage) {
    if (!profiling_) return stage();
    check(cudaStreamSynchronize(stream_), name);
    const auto start = std::chrono::steady_clock::now();
    stage();
    check(cudaStreamSynchronize(stream_), name);
    seconds_[name] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  bool profiling_ = false;
  std::map<std::string, double> seconds_;
  int device_, slots_ = 0;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  void* operands_ = nullptr;
  std::size_t operand_bytes_ = 0;
};

}  // namespace pandora::cuda
