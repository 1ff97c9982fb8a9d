// What runs lanes on devices. The CPU is no backend of this kind: it has no devices and runs everything that these
// cannot.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"

namespace pandora {

/// A kind of device. All functions may be called by several threads at once.
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
/// is its files and a line here.
const std::vector<Backend>& backends();

/// Devices of one backend; none: the CPU.
struct DeviceSet {
  const Backend* backend = nullptr;
  std::vector<int> ids;

  bool empty() const { return ids.empty(); }
};

}  // namespace pandora
