// GPUs: finding them, and the engine on one of them. A build without the CUDA toolkit finds none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"
#include "pandora/error.hpp"

namespace pandora {

struct DeviceInfo {
  int id = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::uint64_t memory = 0;  ///< bytes, in all
  std::string unusable;      ///< empty, or the reason why this build cannot use it
};

struct DeviceReport {
  std::string none;                 ///< the reason why there is no usable device; empty if there is one
  std::string driver, runtime;      ///< the CUDA versions of the driver and of this build; or empty
  std::vector<DeviceInfo> devices;  ///< all that were found, usable or not

  std::vector<int> usable() const {
    std::vector<int> ids;
    for (const DeviceInfo& device : devices)
      if (device.unusable.empty()) ids.push_back(device.id);
    return ids;
  }
};

/// Asks the driver, without a context on any device.
DeviceReport find_devices();

/// Whether a build for `architectures` (CMAKE_CUDA_ARCHITECTURES, such as "80-real,90") has code for compute capability
/// major.minor: machine code of the same major and no later minor version, or PTX of no later version.
bool has_code_for(const std::string& architectures, int major, int minor);

/// A preparer for the calling thread on a CUDA device, on which it holds memory. Tapes equal the CPU's in every bit;
/// oracle indices differ by the order of summation. It throws Error (device) if memory runs out.
ReplicationPreparer prepare_on_device(int device);

/// A device has no room for even one replication.
struct DeviceFull : Error {
  explicit DeviceFull(const std::string& what) : Error(ExitCode::device, what) {}
};

/// Runs the lanes of all units on a device, in single precision; see run_lanes. If the units do not fit in its memory
/// together, they run one half after the other. Throws DeviceFull, with the memory that is needed, if not even one
/// fits. `records` is empty or has one entry per lane of all units.
std::vector<std::vector<LaneTally>> run_on_device(int device, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters = nullptr,
                                                  std::span<LaneRecord> records = {});

/// A kind of device. The CPU is not one of them: it runs everything that devices cannot. Several threads may call all
/// functions at once.
struct Backend {
  std::string name;        ///< the name in --backend and in the identity of results
  DeviceReport (*find)();  ///< finds devices without making a context
  /// Runs the lanes of many replications on a device, blocked and in single precision, like run_on_device, and
  /// throws DeviceFull as it does.
  std::vector<std::vector<LaneTally>> (*run)(int device, std::span<const UnitOfLanes> units,
                                             const BlockOptions& options, EngineCounters* counters,
                                             std::span<LaneRecord> records);
  /// A preparer for the calling thread on a device.
  ReplicationPreparer (*preparer)(int device);
};

/// All backends. `--backend auto` takes the first with a usable device. To add a backend, write its files and add a
/// line in backend_choice.cpp.
const std::vector<Backend>& backends();

/// Devices of one backend; none: the CPU.
struct DeviceSet {
  const Backend* backend = nullptr;
  std::vector<int> ids;

  bool empty() const { return ids.empty(); }
};

}  // namespace pandora
