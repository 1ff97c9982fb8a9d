// The functions of device.hpp in a build without the CUDA toolkit.
#include "host/lanes/devices/device.hpp"
#include "pandora/error.hpp"

namespace pandora {

DeviceReport find_devices() {
  DeviceReport report;
  report.none = "this build has no CUDA: no toolkit was found when it was configured";
  return report;
}

std::vector<std::vector<LaneTally>> run_on_device(int, std::span<const UnitOfLanes>, const BlockOptions&,
                                                  EngineCounters*, std::span<LaneRecord>) {
  throw Error(ExitCode::device, find_devices().none);
}

ReplicationPreparer prepare_on_device(int) {
  throw Error(ExitCode::device, find_devices().none);
}

}  // namespace pandora
