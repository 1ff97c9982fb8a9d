// GPUs: what is there, and the engine on one of them. In a build without the CUDA toolkit nothing is there.
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
  std::string unusable;      ///< empty, or why this build cannot use it
};

struct DeviceReport {
  std::string none;                 ///< why there is no usable device; empty if there is one
  std::string driver, runtime;      ///< CUDA versions that the driver supports and that this build has; or empty
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

/// A preparer for the calling thread on a CUDA device, which it holds memory of. Tapes are equal in every bit to the
/// CPU's; oracle indices differ by the order of summation. It throws Error (device) if memory runs out.
ReplicationPreparer prepare_on_device(int device);

/// A device has no room for even one replication.
struct DeviceFull : Error {
  explicit DeviceFull(const std::string& what) : Error(ExitCode::device, what) {}
};

/// Runs the lanes of all units on a device, in single precision; see run_lanes. Units that do not fit in its memory
/// together run one half after the other. Throws DeviceFull if not even one fits, with what is needed.
/// `records` is empty or has one entry per lane of all units.
std::vector<std::vector<LaneTally>> run_on_device(int device, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters = nullptr,
                                                  std::span<LaneRecord> records = {});

/// A kind of device; the CPU is none: it has no devices and runs everything that these cannot. All functions may be
/// called by several threads at once.
struct Backend {
  std::string name;        ///< as --backend and the identity of results have it
  DeviceReport (*find)();  ///< what there is; makes no context on a device
  /// Runs the lanes of many replications on a device, blocked and in single precision; as run_on_device. Throws
  /// DeviceFull where they find no room together.
  std::vector<std::vector<LaneTally>> (*run)(int device, std::span<const UnitOfLanes> units,
                                             const BlockOptions& options, EngineCounters* counters,
                                             std::span<LaneRecord> records);
  /// A preparer for the calling thread on a device.
  ReplicationPreparer (*preparer)(int device);
};

/// All of them, in the order in which --backend auto takes the first that has a usable device. A backend of one's own
/// is its files and a line in backend_choice.cpp.
const std::vector<Backend>& backends();

/// Devices of one backend; none: the CPU.
struct DeviceSet {
  const Backend* backend = nullptr;
  std::vector<int> ids;

  bool empty() const { return ids.empty(); }
};

}  // namespace pandora
