// A trial: the bodies one after the other, as a backend that --backend can name.
#pragma once

#include "host/devices/backend.hpp"

namespace pandora {

DeviceReport find_scalar();
std::vector<std::vector<LaneTally>> run_scalar(int device, std::span<const UnitOfLanes> units,
                                               const BlockOptions& options, EngineCounters* counters,
                                               std::span<LaneRecord> records);
ReplicationPreparer prepare_scalar(int device);

}  // namespace pandora
