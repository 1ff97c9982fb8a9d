// Devices, their memory and its shadow.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "check.hpp"
#include "stand_in.hpp"

namespace stand_in {
namespace {

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

void* reserve(std::size_t bytes, int rights) {
  void* const p = mmap(nullptr, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) std::perror("stand-in: mmap"), std::abort();
  return p;
}

// The pages of an allocation.
struct Pages {
  char* first;
  std::size_t bytes;
  Pages(const Device& device, char* p, std::size_t n)
      : first(device.base + device.offset(p) / kPage * kPage),
        bytes((device.offset(p) - device.offset(first) + n + kPage - 1) / kPage * kPage) {}
};

// Without protection keys, a device's memory is open to all threads as long as one thread works for the device.
void protect(Device& device, int rights) {
  for (const auto& [p, bytes] : device.live) {
    const Pages pages(device, p, bytes);
    mprotect(pages.first, pages.bytes, rights);
  }
}

// A device whose compute mode is exclusive belongs to the first process that makes a context on it.
bool context_on(Device& device) {
  const std::lock_guard guard(device.mutex);
  if (device.context) return true;
  if (fails("context")) return false;
  if (!settings().exclusive.empty()) {
    const std::string file = settings().exclusive + "/device-" + std::to_string(device.id);
    const int lock = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);  // kept until the process ends
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) return false;
  }
  return device.context = true;
}

}  // namespace

cudaError_t set_error(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

std::vector<Device*>& devices() {
  static std::vector<Device*>* const all = [] {
    auto* const list = new std::vector<Device*>;  // never destroyed: other exit handlers may still free memory
    for (int id = 0; id < settings().devices; ++id) {
      auto* const device = new Device;
      device->id = id;
      device->size = 16 * settings().memory;
      device->base = static_cast<char*>(reserve(device->size, PROT_NONE));
      device->state = static_cast<std::uint8_t*>(reserve(device->size, PROT_READ | PROT_WRITE));
      if (check_range != nullptr) {
        device->words = static_cast<Cell*>(reserve(device->size / 4 * sizeof(Cell), PROT_READ | PROT_WRITE));
        device->bytes = static_cast<Cell*>(reserve(device->size * sizeof(Cell), PROT_READ | PROT_WRITE));
      }
      if (settings().keys) device->key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
      list->push_back(device);
    }
    return list;
  }();
  return *all;
}

Device* device_of(const void* p) {
  for (Device* const device : devices())
    if (device->holds(p)) return device;
  return nullptr;
}

Device* current_device() {
  if (current >= static_cast<int>(devices().size())) return nullptr;
  Device* const device = devices()[static_cast<std::size_t>(current)];
  return context_on(*device) ? device : nullptr;
}

Access::Access(Device& device) : device_(device) {
  if (device.key >= 0) {
    pkey_set(device.key, 0);
    return;
  }
  const std::lock_guard guard(device.mutex);
  if (device.open++ == 0) protect(device, PROT_READ | PROT_WRITE);
}

Access::~Access() {
  if (device_.key >= 0) {
    pkey_set(device_.key, PKEY_DISABLE_ACCESS);
    return;
  }
  const std::lock_guard guard(device_.mutex);
  if (--device_.open == 0) protect(device_, PROT_NONE);
}

char* take_pages(Device& device, std::size_t bytes) {
  const std::size_t pages = (bytes + kPage - 1) / kPage * kPage;
  if (device.next + pages + 2 * kPage > device.size) return nullptr;
  char* const p = device.base + device.next + kPage;
  device.next += pages + kPage;
  if (mprotect(p, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset(p, 0xff, pages);  // as a number NaN, as an integer -1
  if (device.key >= 0)
    pkey_mprotect(p, pages, PROT_READ | PROT_WRITE, device.key);
  else if (device.open == 0)
    mprotect(p, pages, PROT_NONE);
  return p;
}

void touch(const void* p, std::size_t bytes, bool writes, const char* what, bool over_gaps) {
  if (bytes == 0) return;
  Device* const device = running->stream->device;
  if (!device->holds(p)) {
    report(std::string(what) + ": " + (device_of(p) != nullptr ? "another device's memory" : "no device's memory"));
    return;
  }
  std::uint8_t* const state = device->state + device->offset(p);
  static const std::vector<std::uint8_t> all(1 << 16, written);
  if (check_range == nullptr && bytes <= all.size() && std::memcmp(state, all.data(), bytes) == 0) return;
  std::size_t unwritten = 0;
  for (std::size_t k = 0; k < bytes; ++k) {
    if (state[k] == written || (over_gaps && state[k] == gap)) continue;
    if (state[k] != rubbish) {
      report(std::string(what) + (state[k] == freed ? ": freed memory" : ": memory of no array") + ", byte " +
             std::to_string(k) + " of " + std::to_string(bytes));
      return;
    }
    if (writes)
      state[k] = written;
    else
      ++unwritten;
  }
  if (check_range == nullptr) return;  // without checks of kernels, their writes are not known
  if (unwritten > 0)
    report(std::string(what) + ": uninitialised: reads " + std::to_string(unwritten) + " of " + std::to_string(bytes) +
           " bytes that nothing has written");
  check_range(*device, p, bytes, writes, what);
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(devices().size());
  if (fails("count")) return set_error(cudaErrorInsufficientDriver);
  return *count == 0 ? set_error(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaSetDevice(int id) {
  if (id < 0 || id >= static_cast<int>(devices().size())) return set_error(cudaErrorInvalidDevice);
  current = id;
  const char* const only = std::getenv("STAND_IN_ONLY");  // read anew: tests set it between calls
  if (only != nullptr && std::atoi(only) != id) return set_error(cudaErrorDevicesUnavailable);
  if (current_device() == nullptr) return set_error(cudaErrorDevicesUnavailable);
  return set_error(static_cast<cudaError_t>(current_device()->fault.load()));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int id) {
  if (id < 0 || id >= static_cast<int>(devices().size()) || fails("properties"))
    return set_error(cudaErrorInvalidDevice);
  *out = {"Stand-in GPU", 9, 0, settings().multiprocessors, settings().block, settings().memory};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = settings().exclusive.empty() ? cudaComputeModeDefault : cudaComputeModeExclusiveProcess;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = fails("driver") ? 0 : 13000;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorUnknown:
      return "unknown error";
  }
  return "unrecognized error code";
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Device* const device = current_device();
  if (device == nullptr) return set_error(cudaErrorDevicesUnavailable);
  const std::lock_guard guard(device->mutex);
  *total = settings().memory;
  *free = *total - std::min(device->used, *total);
  return set_error(static_cast<cudaError_t>(device->fault.load()));
}

cudaError_t cudaMalloc(void** out, std::size_t bytes) {
  *out = nullptr;
  Device* const device = current_device();
  if (device == nullptr) return set_error(cudaErrorDevicesUnavailable);
  if (device->fault != 0) return set_error(static_cast<cudaError_t>(device->fault.load()));
  if (bytes == 0) return cudaSuccess;
  const std::lock_guard guard(device->mutex);
  if (fails("memory") || device->used + bytes > settings().memory) {
    ++refused;
    return set_error(cudaErrorMemoryAllocation);
  }
  char* const pages = take_pages(*device, bytes);
  if (pages == nullptr) {
    std::fputs("stand-in: addresses are used up; a larger STAND_IN_MEMORY_MIB helps\n", stderr);
    return set_error(cudaErrorMemoryAllocation);
  }
  char* const p = pages + ((bytes + kPage - 1) / kPage * kPage - bytes) / 256 *
                              256;  // as near to the end of the pages as CUDA's alignment allows
  std::memset(device->state + device->offset(p), rubbish, bytes);
  device->used += bytes;
  if (device->used > most) most = device->used;
  device->live[p] = bytes;
  *out = p;
  return cudaSuccess;
}

cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  Device* const device = device_of(p);
  if (device == nullptr) {
    report("cudaFree: an address of no device");
    return set_error(cudaErrorInvalidValue);
  }
  wait_for_all(*device);
  const std::lock_guard guard(device->mutex);
  const auto found = device->live.find(static_cast<char*>(p));
  if (found == device->live.end()) {
    report(device->gone.count(static_cast<char*>(p)) != 0 ? "cudaFree: freed twice"
                                                          : "cudaFree: not what cudaMalloc gave");
    return set_error(cudaErrorInvalidValue);
  }
  const Pages pages(*device, found->first, found->second);
  std::memset(device->state + device->offset(p), freed, found->second);
  mprotect(pages.first, pages.bytes, PROT_NONE);
  madvise(pages.first, pages.bytes, MADV_DONTNEED);
  const std::size_t at = device->offset(pages.first);
  if (check_range != nullptr) {
    madvise(device->words + at / 4, pages.bytes / 4 * sizeof(Cell), MADV_DONTNEED);
    madvise(device->bytes + at, pages.bytes * sizeof(Cell), MADV_DONTNEED);
  }
  device->used -= found->second;
  device->gone.insert(*found);
  device->live.erase(found);
  return set_error(static_cast<cudaError_t>(device->fault.load()));
}

void stand_in_array(void* p, std::size_t bytes, std::size_t gap_bytes) {
  Device* const device = device_of(p);
  if (device == nullptr) return;  // the arena is in host memory
  std::uint8_t* const state = device->state + device->offset(p);
  for (std::size_t k = 0; k < bytes; ++k)
    if (state[k] == gap) state[k] = rubbish;
  for (std::size_t k = bytes; k < bytes + gap_bytes; ++k)
    if (state[k] == rubbish || state[k] == written) state[k] = gap;
}

void stand_in_forget(void* p, std::size_t bytes, cudaStream_t stream) {
  enqueue(stream, "forgetting", [=] {
    Device* const device = running->stream->device;
    std::memset(p, 0xff, bytes);
    std::memset(device->state + device->offset(p), rubbish, bytes);
  });
  cudaStreamSynchronize(stream);  // because the host then lays out the arrays anew
}

}  // extern "C"
