// The fast engine on a CPU: lanes advance through blocks of B periods, in which rank-one updates become matrix products
// (kernels/lane/gram.hpp). The algebra is that of the reference engine. Real = float is the working precision; Real =
// double serves the comparison with the reference engine.
#pragma once

#include "host/lanes/engine/lanes.hpp"

namespace pandora {

/// Runs all lanes on the replication, one block after the other. A lane's tally does not depend on the others. A lane
/// that fails stops, and its tally says why. `records` is empty or has one entry per lane.
template <class Real>
std::vector<LaneTally> run_on_cpu(const Replication& replication, std::span<const LaneSpec> lanes,
                                  const BlockOptions& options, EngineCounters* counters = nullptr,
                                  std::span<LaneRecord> records = {});

/// The bytes that run_on_cpu needs for lanes with that specification on tapes of that size.
struct TapeSize {
  Dimensions dimensions;
  int calibration_rows = 0, online_rows = 0;
};
template <class Real>
std::size_t memory_on_cpu(const TapeSize& tape, const std::vector<LaneSpec>& lanes, const BlockOptions& options);

/// The memory on a GPU with this many multiprocessors for the lanes of `units` replications that run together.
struct DeviceDemand {
  std::size_t bytes = 0;
  std::size_t matrices = 0;  ///< the matrices by which a block of periods is multiplied
};
DeviceDemand demand_on_device(const TapeSize& tape, const std::vector<LaneSpec>& lanes, const BlockOptions& options,
                              std::size_t units, int multiprocessors);

}  // namespace pandora
