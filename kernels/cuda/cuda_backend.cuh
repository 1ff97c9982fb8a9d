// The CUDA backend of the engine: kernels that run the bodies, and the operands of a block's batched products.
// Without a GPU it runs through the stand-in for CUDA (tests/cuda_stand_in).
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/runtime.cuh"
#include "kernels/lane/stages.hpp"
#include "kernels/state/backend.hpp"

namespace pandora::cuda {

using engine::kBlockMembers;
inline constexpr int kWarpThreads = 128;  // at most, for a block whose warps have an item each
inline constexpr int kBatch = 4096;       // matrices in a batched product

template <class Body>
constexpr int threads_of() {
  if constexpr (requires { Body::kThreads; })
    return Body::kThreads;
  else
    return kBlockMembers;
}

// How many blocks of a multiprocessor must find registers. A joint solve states no number and gets the one that leaves
// room for three blocks.
template <class Body>
constexpr int resident_of() {
  if constexpr (requires { Body::kResident; })
    return Body::kResident;
  else
    return threads_of<Body>() < kBlockMembers ? 3 : 1;
}
template <class Body, class Team>
__global__ void __launch_bounds__(threads_of<Body>(), resident_of<Body>()) run_blocks(Body body, int items) {
  for (int item = blockIdx.x; item < items; item += gridDim.x) {
    body(Team{}, item, static_cast<int>(blockIdx.x));
    __syncthreads();
  }
}

// The same, but each block takes the next item from a queue, because the cost of items may differ much.
template <class Body, class Team>
__global__ void __launch_bounds__(threads_of<Body>(), resident_of<Body>()) run_queue(Body body, int items) {
  int* const taken = static_cast<int*>(BlockTeam{}.shared());
  for (;;) {
    if (threadIdx.x == 0) *taken = atomicAdd(body.next, 1);
    __syncthreads();
    const int item = *taken;
    __syncthreads();
    if (item >= items) return;
    body(Team{}, item, static_cast<int>(blockIdx.x));
    __syncthreads();
  }
}

template <class Body>
__global__ void __launch_bounds__(kWarpThreads, 4) run_warps(Body body, int items) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (int item = warp; item < items; item += gridDim.x * blockDim.x / 32) {
    body(WarpTeam{}, item, -1);  // there are more warps than slots, but these bodies have no scratch
    __syncwarp();
  }
}

/// The operands of a block's batched products. The places beyond the last matrix repeat the first matrices, with
/// results in places of their own that nobody reads: cuBLAS does not define the result where outputs overlap.
template <class Real>
struct GatherOperands {
  engine::FormBlock<Real> form;
  int matrices;
  const Real **P, **psi, **formed;  ///< formed: the images as the second product reads them
  Real **image, **gram;
  Real *spare_images, *spare_grams;

  __host__ __device__ void operator()(int item) const {
    const int which = form.matrices[item < matrices ? item : 0];
    const engine::Shape& shape = form.problem.shape;
    const engine::LaneView<Real>& lane = form.problem.lanes[which / 2 / shape.A];
    const engine::BoxView<Real>& box = lane.box[which / 2 % shape.A];
    const engine::GramView<Real>& g = which % 2 == 1 ? box.curvature : box.design;
    const std::size_t spare = static_cast<std::size_t>(item < matrices ? 0 : item - matrices);
    P[item] = g.P;
    psi[item] = lane.tape.psi_of(lane.tape.online_row(form.range.first_period), shape.stride);
    formed[item] = g.image;
    image[item] = item < matrices ? g.image : spare_images + spare * image_size(shape);
    gram[item] = item < matrices ? g.gram : spare_grams + spare * gram_size(shape);
  }

  static __host__ __device__ std::size_t image_size(const engine::Shape& shape) {
    return static_cast<std::size_t>(shape.B) * shape.stride;
  }
  static __host__ __device__ std::size_t gram_size(const engine::Shape& shape) {
    return static_cast<std::size_t>(shape.B) * shape.width;
  }
};

template <class Body>
__global__ void __launch_bounds__(kBlockMembers) run_threads(Body body, int items) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < items) body(item);
}

/// One device and one stream. Only the thread that made it may use it, since CUDA's current device belongs to a thread.
class CudaBackend {
 public:
  explicit CudaBackend(int device, Precedence precedence = Precedence::usual);
  CudaBackend(const CudaBackend&) = delete;

  /// Allocates memory and leaves room for CUDA's own needs. Throws OutOfMemory.
  Memory allocate(std::size_t bytes);
  void upload(void* to, const void* from, std::size_t bytes) { stream_.upload(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) { stream_.download(to, from, bytes); }
  void zero(void* p, std::size_t bytes) { stream_.zero(p, bytes); }
  void forget(void* p, std::size_t bytes) { stream_.forget(p, bytes); }

  template <class Body>
  void blocks(int items, const Body& body) {
    if (items == 0) return;
    if constexpr (requires { body.next; }) {
      launch(run_queue<Body, BlockTeam>, body.shared_bytes(), items, body);
    } else if constexpr (requires { body.shared_bytes(); }) {
      if (const std::size_t shared = body.shared_bytes(); shared > 0)
        launch(run_blocks<Body, BlockTeam>, shared, items, body);
      else
        launch(run_blocks<Body, OpenTeam>, 0, items, body);
    } else {
      launch(run_blocks<Body, OpenTeam>, 0, items, body);
    }
  }
  template <class Body>
  void warps(int items, const Body& body) {
    if (items == 0) return;
    const int threads = std::min(kWarpThreads, block_threads_);
    timed(Body::kName, [&] {
      stream_.launch(Body::kName, run_warps<Body>, blocks_of(items, threads / 32), threads, 0, body, items);
    });
  }
  template <class Body>
  void threads(int items, const Body& body) {
    if (items == 0) return;
    const int threads = std::min(kBlockMembers, block_threads_);
    stream_.launch("elements", run_threads<Body>, blocks_of(items, threads), threads, 0, body, items);
  }

  /// Images P Psi and Gram matrices Psi' P Psi of all listed matrices: two batched products. Column-major, an m x B
  /// image with leading dimension `stride` is the row-major B x stride that the bodies read; P is symmetric.
  void form(const engine::FormBlock<float>& body, int matrices);

  static constexpr bool kVectors = false;
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = engine::traits_of_gpu(slots_);
    if (!cohorts_) traits.cohort = 0;
    return traits;
  }
  /// Whether the lanes that can go in cohorts do so.
  void cohorts(bool on) { cohorts_ = on; }
  int slots() const { return slots_; }
  const Stream& stream() const { return stream_; }

  /// Seconds per stage since profiling was switched on, by the stage's kName. With profiling, every stage waits for its
  /// end.
  void profile(bool on) { profiling_ = on; }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  static int blocks_of(int items, int per_block) { return (items + per_block - 1) / per_block; }

  // Starts as many blocks as can run at a time. With one more, the last blocks would run alone for as long as all the
  // others did.
  template <class Body>
  void launch(void (*kernel)(Body, int), std::size_t shared, int items, const Body& body) {
    const int threads = std::min(block_threads_, threads_of<Body>());
    const int resident = std::min(slots(), multiprocessors_ * stream_.resident(Body::kName, kernel, threads, shared));
    timed(Body::kName,
          [&] { stream_.launch(Body::kName, kernel, std::min(items, resident), threads, shared, body, items); });
  }

  template <class Stage>
  void timed(const char* name, Stage&& stage) {
    if (!profiling_) return stage();
    stream_.wait(name);
    const auto start = std::chrono::steady_clock::now();
    stage();
    stream_.wait(name);
    seconds_[name] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  struct Selected {
    explicit Selected(int device) { select_device(device); }
  };

  bool profiling_ = false, cohorts_ = true;
  std::map<std::string, double> seconds_;
  Selected selected_;  // first, so that all other members are made on this device
  int multiprocessors_ = 0, slots_ = 0, block_threads_ = engine::kMostBlockMembers;
  Memory operands_;
  Stream stream_;  // destroyed before the operands, which its pending work still uses
  std::unique_ptr<Cublas> cublas_;
};

}  // namespace pandora::cuda
