#include "kernels/cuda/cuda_backend.cuh"

namespace pandora::cuda {

CudaBackend::CudaBackend(int device, Precedence precedence) : selected_(device), stream_(precedence) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  multiprocessors_ = properties.multiProcessorCount;
  slots_ = engine::kBlocksPerMultiprocessor * multiprocessors_;
  block_threads_ = std::min(engine::kMostBlockMembers, properties.maxThreadsPerBlock / 32 * 32);
}

Memory CudaBackend::allocate(std::size_t bytes) {
  // Leaves room for the kernels' stacks, cuBLAS and the preparation of replications.
  constexpr std::size_t kReserve = std::size_t{1} << 30;
  if (bytes > kReserve && bytes + kReserve > free_memory()) throw OutOfMemory(bytes);
  return Memory(bytes);
}

// For another number of matrices cuBLAS may choose another algorithm, and so another order of summation. Batches of one
// size keep a lane's bytes independent of what else runs. Matrices that only fill up the last batch write to outputs
// that nobody reads.
void CudaBackend::form(const engine::FormBlock<float>& body, int matrices) {
  if (matrices == 0) return;
  using Operands = GatherOperands<float>;
  const engine::Shape& shape = body.problem.shape;
  const int padded = blocks_of(matrices, kBatch) * kBatch;
  const std::size_t spares = static_cast<std::size_t>(padded - matrices), image = Operands::image_size(shape);
  const std::size_t wanted = 5 * sizeof(void*) * static_cast<std::size_t>(padded) +
                             spares * (image + Operands::gram_size(shape)) * sizeof(float);
  if (!cublas_) cublas_ = std::make_unique<Cublas>(stream_);
  if (wanted > operands_.bytes()) {
    operands_ = Memory();
    operands_ = allocate(wanted);
  }
  const auto list = [&](int k) { return static_cast<float**>(operands_.get()) + static_cast<std::size_t>(k) * padded; };
  const auto inputs = [&](int k) { return const_cast<const float**>(list(k)); };
  float* const spare = reinterpret_cast<float*>(list(5));
  const Operands operands{
      body, matrices, inputs(0), inputs(1), inputs(2), list(3), list(4), spare, spare + spares * image};
  const Cublas& cublas = *cublas_;
  timed(body.kName, [&] {
    threads(padded, operands);
    const float one = 1.0f, zero = 0.0f;
    for (int first = 0; first < padded; first += kBatch) {
      check(cublas->sgemm_batched(cublas.get(), CUBLAS_OP_N, CUBLAS_OP_N, shape.m, body.range.B, shape.m, &one,
                                  operands.P + first, shape.stride, operands.psi + first, shape.stride, &zero,
                                  operands.image + first, shape.stride, kBatch),
            "forming images");
      check(cublas->sgemm_batched(cublas.get(), CUBLAS_OP_T, CUBLAS_OP_N, body.range.B, body.range.B, shape.m, &one,
                                  operands.psi + first, shape.stride, operands.formed + first, shape.stride, &zero,
                                  operands.gram + first, shape.width, kBatch),
            "forming Gram matrices");
    }
  });
}

}  // namespace pandora::cuda
