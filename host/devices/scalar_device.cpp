// A trial: the bodies one after the other, as a backend that --backend can name.
#include "host/devices/scalar_device.hpp"

#include "host/devices/preparer.hpp"
#include "tests/reference/scalar_backend.hpp"

namespace pandora {

DeviceReport find_scalar() {
  DeviceReport report;
  report.driver = "none";
  report.devices = {{0, "one thread", 0, 0, 1, 0, ""}};
  return report;
}

std::vector<std::vector<LaneTally>> run_scalar(int, std::span<const UnitOfLanes> units, const BlockOptions& options,
                                               EngineCounters* counters, std::span<LaneRecord> records) {
  test::ScalarBackend backend;
  return engine::run_lanes<float>(backend, units, options, counters, records);
}

ReplicationPreparer prepare_scalar(int) {
  return [](const Preparation& from, OrderFrequencies* order) {
    test::ScalarPrepareBackend backend;
    return prepare::Preparer(backend).prepare(from, order);
  };
}

}  // namespace pandora
