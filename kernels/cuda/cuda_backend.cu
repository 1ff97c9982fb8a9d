#include "kernels/cuda/cuda_backend.cuh"

namespace pandora::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(ExitCode::device, std::string("CUDA: ") + what + ": " + cudaGetErrorString(status) +
                                    "; `pandora devices` shows the devices, --backend cpu runs without one");
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ExitCode::device, std::string("cuBLAS: ") + what + ": " + cublasGetStatusString(status));
}

void* allocate_memory(std::size_t bytes) {
  void* p = nullptr;
  const cudaError_t status = cudaMalloc(&p, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is dealt with; later checks must not see it
    throw OutOfMemory(bytes);
  }
  check(status, "allocating memory");
  return p;
}

CudaBackend::CudaBackend(int device) : device_(device) {
  check(cudaSetDevice(device), "selecting the device");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  slots_ = 4 * properties.multiProcessorCount;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

CudaBackend::~CudaBackend() {
  cudaFree(operands_);
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void* CudaBackend::allocate(std::size_t bytes) {
  // The kernels' stacks, cuBLAS and the preparation of replications need room too.
  constexpr std::size_t kReserve = std::size_t{1} << 30;
  if (bytes > kReserve && bytes + kReserve > free_bytes()) throw OutOfMemory(bytes);
  return allocate_memory(bytes);
}

void CudaBackend::release(void* p) {
  cudaFree(p);
}

void CudaBackend::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to the device");
  check(cudaStreamSynchronize(stream_), "copying to the device");
}

void CudaBackend::download(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the device");
  check(cudaStreamSynchronize(stream_), "running on the device");
}

void CudaBackend::zero(void* p, std::size_t bytes) {
  check(cudaMemsetAsync(p, 0, bytes, stream_), "clearing memory");
}

std::size_t CudaBackend::free_bytes() const {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the free memory");
  return free;
}

// cuBLAS may choose another algorithm, and with it another order of summation, for another number of matrices: batches
// of one size keep a lane's bytes independent of what else runs. What fills the last batch up writes to a spare place.
void CudaBackend::form(const lockstep::FormBlock<float>& body, int matrices) {
  if (matrices == 0) return;
  const lockstep::Shape& shape = body.problem.shape;
  const int batches = (matrices + kBatch - 1) / kBatch, padded = batches * kBatch;
  const std::size_t image = static_cast<std::size_t>(shape.B) * shape.stride,
                    gram = static_cast<std::size_t>(shape.B) * shape.B;
  const std::size_t wanted = 4 * sizeof(void*) * static_cast<std::size_t>(padded) + (image + gram) * sizeof(float);
  if (cublas_ == nullptr) {
    check(cublasCreate(&cublas_), "creating a handle");
    check(cublasSetStream(cublas_, stream_), "setting the stream");
    // The default keeps single precision as it is; TF32 would have to be asked for.
    check(cublasSetMathMode(cublas_, CUBLAS_DEFAULT_MATH), "setting the arithmetic");
  }
  if (wanted > operand_bytes_) {
    release(operands_);
    operands_ = nullptr;
    operand_bytes_ = 0;
    operands_ = allocate(wanted);
    operand_bytes_ = wanted;
  }
  const auto list = [&](int k) { return static_cast<float**>(operands_) + static_cast<std::size_t>(k) * padded; };
  float* const spare = reinterpret_cast<float*>(list(4));
  const GatherOperands<float> operands{
      body,  matrices,     const_cast<const float**>(list(0)), const_cast<const float**>(list(1)), list(2), list(3),
      spare, spare + image};
  timed(body.kName, [&] {
    threads(padded, operands);
    const float one = 1.0f, zero = 0.0f;
    for (int first = 0; first < padded; first += kBatch) {
      check(cublasSgemmBatched(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, shape.m, body.range.B, shape.m, &one,
                               operands.P + first, shape.stride, operands.psi + first, shape.stride, &zero,
                               operands.image + first, shape.stride, kBatch),
            "forming images");
      check(cublasSgemmBatched(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, body.range.B, body.range.B, shape.m, &one,
                               operands.psi + first, shape.stride,
                               const_cast<const float* const*>(operands.image + first), shape.stride, &zero,
                               operands.gram + first, shape.B, kBatch),
            "forming Gram matrices");
    }
  });
}

}  // namespace pandora::cuda
