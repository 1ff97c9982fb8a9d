// host/device.hpp on CUDA.
#include <cstdio>

#include "host/device.hpp"
#include "host/device_prepare.hpp"
#include "kernels/prepare/sort.cuh"

namespace pandora {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string gib(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1u << 30));
  return text;
}

// Whether this build has code for the device, asked of a kernel that every run launches.
std::string missing_code() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, cuda::run_threads<cuda::GatherOperands<float>>);
  if (status == cudaSuccess) return {};
  cudaGetLastError();
  return std::string("no code for it in this build (") + cudaGetErrorString(status) +
         "); configure with CMAKE_CUDA_ARCHITECTURES for it";
}

}  // namespace

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
  for (int id = 0; id < count; ++id) {
    DeviceInfo info;
    info.id = id;
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, id) != cudaSuccess || cudaSetDevice(id) != cudaSuccess) {
      info.unusable = cudaGetErrorString(cudaGetLastError());
    } else {
      std::size_t free = 0, total = 0;
      info.name = properties.name;
      info.major = properties.major;
      info.minor = properties.minor;
      info.multiprocessors = properties.multiProcessorCount;
      info.unusable = missing_code();
      if (info.unusable.empty() && cudaMemGetInfo(&free, &total) != cudaSuccess)
        info.unusable = cudaGetErrorString(cudaGetLastError());
      info.memory = total != 0 ? total : properties.totalGlobalMem;
      info.free_memory = free;
    }
    report.devices.push_back(info);
  }
  if (report.usable().empty()) report.none = "device 0: " + report.devices[0].unusable;
  return report;
}

std::vector<std::vector<LaneTally>> run_on_device(int device, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters,
                                                  std::span<LaneRecord> records) {
  cuda::CudaBackend backend(device);
  try {
    return lockstep::run_in_memory<float>(backend, units, options, counters, records);
  } catch (const OutOfMemory& error) {
    throw Error(ExitCode::device, "device " + std::to_string(device) + ": one replication needs " + gib(error.bytes) +
                                      ", " + gib(backend.free_bytes()) +
                                      " are free; use a smaller --periods, fewer policies, or --backend cpu");
  }
}

UnitPreparer prepare_on_device(int device, const Study& study, const Plan& plan) {
  struct State {
    explicit State(int id) : backend(id), preparer(backend) {}
    cuda::PrepareBackend backend;
    prepare::Preparer<cuda::PrepareBackend> preparer;
  };
  return [state = std::make_shared<State>(device), device, &study, &plan](const Unit& unit, OrderStatistics* order) {
    try {
      return state->preparer.prepare(study, plan, unit, order);
    } catch (const OutOfMemory& error) {
      throw Error(ExitCode::device, "device " + std::to_string(device) + ": preparing a replication needs " +
                                        gib(error.bytes) + " more, " + gib(state->backend.free_bytes()) +
                                        " are free; use fewer --threads or --samples, or --backend cpu");
    }
  };
}

}  // namespace pandora
