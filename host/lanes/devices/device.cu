// host/lanes/devices/device.hpp on CUDA.
#include <charconv>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/devices/preparer.hpp"
#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/model/kernel_errors.hpp"
#include "kernels/cuda/sort.cuh"

namespace pandora {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The memory that a failed allocation asked for, if that is known.
std::string wanted(const OutOfMemory& error) {
  if (error.bytes == 0) return "more memory than there is";
  char text[32];  // std::snprintf would use the decimal point of the process's locale
  const auto end = std::to_chars(text, text + sizeof text, static_cast<double>(error.bytes) / (1u << 30),
                                 std::chars_format::fixed, 2);
  return std::string(text, end.ptr) + " GiB";
}

std::string device_text(int device) {
  return "device " + std::to_string(device);
}

DeviceInfo describe(int id) {
  DeviceInfo info;
  info.id = id;
  cudaDeviceProp properties{};
  int mode = cudaComputeModeDefault;
  cudaError_t status = cudaGetDeviceProperties(&properties, id);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, id);
  if (status != cudaSuccess) {
    cudaGetLastError();
    info.unusable = cudaGetErrorString(status);
    return info;
  }
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory = properties.totalGlobalMem;
  if (!has_code_for(PANDORA_CUDA_ARCHITECTURES, info.major, info.minor))
    info.unusable =
        "no code for it in this build (" PANDORA_CUDA_ARCHITECTURES "); configure with CMAKE_CUDA_ARCHITECTURES for it";
  else if (mode == cudaComputeModeProhibited)
    info.unusable = "its compute mode is Prohibited; `nvidia-smi -c 0` allows computing";
  return info;
}

}  // namespace

// Nothing here makes a context, so that processes that share a machine, each with its own device, do not disturb each
// other.
DeviceReport find_devices() {
  DeviceReport report;
  int driver = 0, runtime = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  report.runtime = version_text(runtime);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    cudaGetLastError();
    report.none = "no NVIDIA driver is installed";
    return report;
  }
  report.driver = version_text(driver);
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    cudaGetLastError();
    report.none = status == cudaSuccess || status == cudaErrorNoDevice
                      ? "no CUDA device was found"
                      : std::string("the driver cannot be used: ") + cudaGetErrorString(status);
    return report;
  }
  for (int id = 0; id < count; ++id) report.devices.push_back(describe(id));
  if (report.usable().empty()) report.none = device_text(0) + ": " + report.devices[0].unusable;
  return report;
}

std::vector<std::vector<LaneTally>> run_on_device(int device, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters,
                                                  std::span<LaneRecord> records) {
  return for_the_user([&] {
    cuda::CudaBackend backend(device);
    try {
      return engine::run_in_memory<float>(backend, units, options, counters, records);
    } catch (const OutOfMemory& error) {
      throw DeviceFull(device_text(device) + ": one replication needs " + wanted(error) + "; use a smaller " +
                       option("periods") + ", fewer policies, or " + option("backend", "cpu"));
    }
  });
}

ReplicationPreparer prepare_on_device(int device) {
  struct State {
    explicit State(int id) : backend(id), preparer(backend) {}
    cuda::PrepareBackend backend;
    prepare::Preparer<cuda::PrepareBackend> preparer;
  };
  const auto state = for_the_user([&] { return std::make_shared<State>(device); });
  return [state, device](const Preparation& from, OrderFrequencies* order) {
    return for_the_user([&] {
      try {
        return state->preparer.prepare(from, order);
      } catch (const OutOfMemory& error) {
        throw Error(ExitCode::device, device_text(device) + ": preparing a replication needs " + wanted(error) +
                                          "; use fewer " + option("threads") + " or " + option("samples") + ", or " +
                                          option("backend", "cpu"));
      }
    });
  };
}

}  // namespace pandora
