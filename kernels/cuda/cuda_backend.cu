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

CudaBackend::CudaBackend(int device) : device_(device) {
  check(cudaSetDevice(device), "selecting the device");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  slots_ = 4 * properties.multiProcessorCount;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  check(cublasCreate(&cublas_), "creating a handle");
  check(cublasSetStream(cublas_, stream_), "setting the stream");
  // Single precision as it is: no TF32 (docs/performance.md).
  check(cublasSetMathMode(cublas_, CUBLAS_PEDANTIC_MATH), "setting the arithmetic");
}

CudaBackend::~CudaBackend() {
  cudaFree(operands_);
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void* CudaBackend::allocate(std::size_t bytes) {
  void* p = nullptr;
  const cudaError_t status = cudaMalloc(&p, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is dealt with; later checks must not see it
    throw lockstep::OutOfMemory(bytes);
  }
  check(status, "allocating memory");
  return p;
}

void CudaBackend::release(void* p) {
  cudaFree(p);
}

void CudaBackend::upload(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to the device");
  check(cudaStreamSynchronize(stream_), "copying to the device");
}

void CudaBackend::download(void* to, const void* from, std::size_t bytes) {
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

void CudaBackend::form(const lockstep::FormBlock<float>& body, int matrices) {
  if (matrices == 0) return;
  if (matrices > operand_capacity_) {
    check(cudaFree(operands_), "releasing memory");
    operands_ = nullptr;
    operand_capacity_ = 0;
    operands_ = allocate(4 * sizeof(void*) * static_cast<std::size_t>(matrices));
    operand_capacity_ = matrices;
  }
  const auto list = [&](int k) {
    return static_cast<float**>(operands_) + static_cast<std::size_t>(k) * operand_capacity_;
  };
  const GatherOperands<float> operands{body, const_cast<const float**>(list(0)), const_cast<const float**>(list(1)),
                                       list(2), list(3)};
  timed(body.kName, [&] {
    threads(matrices, operands);
    const lockstep::Shape& shape = body.problem.shape;
    const float one = 1.0f, zero = 0.0f;
    check(cublasSgemmBatched(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, shape.m, body.range.B, shape.m, &one, operands.P,
                             shape.stride, operands.psi, shape.stride, &zero, operands.image, shape.stride, matrices),
          "forming images");
    check(cublasSgemmBatched(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, body.range.B, body.range.B, shape.m, &one, operands.psi,
                             shape.stride, const_cast<const float* const*>(operands.image), shape.stride, &zero,
                             operands.gram, shape.B, matrices),
          "forming Gram matrices");
  });
}

}  // namespace pandora::cuda
