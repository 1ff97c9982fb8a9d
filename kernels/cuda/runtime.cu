#include <dlfcn.h>

#include <string>

#include "kernels/cuda/runtime.cuh"

namespace pandora::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that later checks do not report it again
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(0);
  throw DeviceError(DeviceError::Of::cuda, std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(0);
  throw DeviceError(DeviceError::Of::cublas,
                    std::string("cuBLAS: ") + what + ": " + cublas_functions().status_string(status));
}

void select_device(int device) {
  check(cudaSetDevice(device), "selecting the device");
}

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the free memory");
  return free;
}

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  try {
    check(cudaMalloc(&p_, bytes), "allocating memory");
  } catch (const OutOfMemory&) {
    throw OutOfMemory(bytes);
  }
}

Memory::~Memory() {
  cudaFree(p_);
}

Stream::Stream(Precedence precedence) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for the priorities of streams");
  check(
      cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, precedence == Precedence::first ? greatest : least),
      "creating a stream");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::wait(const char* what) const {
  check(cudaStreamSynchronize(stream_), what);
}

void Stream::upload(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to the device");
  wait("copying to the device");
}

void Stream::download(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the device");
  wait("running on the device");
}

void Stream::copy(void* to, const void* from, std::size_t bytes) const {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copying within the device");
}

void Stream::zero(void* p, std::size_t bytes) const {
  check(cudaMemsetAsync(p, 0, bytes, stream_), "clearing memory");
}

void Stream::forget([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) const {
#if defined(PANDORA_STAND_IN)
  stand_in_forget(p, bytes, stream_);
#endif
}

namespace {

// Tries the system's loader first, then the path at which the library was when this was built.
void* load_cublas() {
  for (const char* name : {PANDORA_CUBLAS, PANDORA_CUBLAS_FOLDER "/" PANDORA_CUBLAS})
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw DeviceError(DeviceError::Of::loading_cublas,
                    std::string(PANDORA_CUBLAS " cannot be loaded (") + dlerror() + ")");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw DeviceError(DeviceError::Of::cublas, std::string(PANDORA_CUBLAS " has no function ") + name);
}

}  // namespace

const CublasFunctions& cublas_functions() {
// cuBLAS's header renames some functions by macros; the text here is the renamed one.
#define PANDORA_TEXT_OF(name) #name
#define PANDORA_FIND(member, name) find(library, PANDORA_TEXT_OF(name), found.member)
  static const CublasFunctions functions = [] {
    void* const library = load_cublas();
    CublasFunctions found{};
    PANDORA_FIND(create, cublasCreate);
    PANDORA_FIND(destroy, cublasDestroy);
    PANDORA_FIND(set_stream, cublasSetStream);
    PANDORA_FIND(set_math_mode, cublasSetMathMode);
    PANDORA_FIND(status_string, cublasGetStatusString);
    PANDORA_FIND(sgemm, cublasSgemm);
    PANDORA_FIND(sgemm_batched, cublasSgemmBatched);
    return found;
  }();
  return functions;
#undef PANDORA_FIND
#undef PANDORA_TEXT_OF
}

Cublas::Cublas(const Stream& stream) {
  const CublasFunctions& cublas = cublas_functions();
  check(cublas.create(&handle_), "creating a handle");
  try {
    check(cublas.set_stream(handle_, stream.get()), "setting the stream");
    // The default keeps full single precision; TF32 would have to be asked for.
    check(cublas.set_math_mode(handle_, CUBLAS_DEFAULT_MATH), "setting the arithmetic");
  } catch (...) {
    cublas.destroy(handle_);
    throw;
  }
}

Cublas::~Cublas() {
  cublas_functions().destroy(handle_);
}

}  // namespace pandora::cuda
