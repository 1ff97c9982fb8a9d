#include "host/engine/run_on_cpu.hpp"

#include "host/engine/cpu_backend.hpp"

namespace pandora {

template <class Real>
std::vector<LaneTally> run_on_cpu(const Replication& replication, std::span<const LaneSpec> lanes,
                                  const BlockOptions& options, EngineCounters* counters,
                                  std::span<LaneRecord> records) {
  engine::CpuBackend backend;
  const UnitOfLanes unit{&replication, {lanes.begin(), lanes.end()}};
  return engine::run_lanes<Real>(backend, std::span(&unit, 1), options, counters, records)[0];
}

template std::vector<LaneTally> run_on_cpu<float>(const Replication&, std::span<const LaneSpec>, const BlockOptions&,
                                                  EngineCounters*, std::span<LaneRecord>);
template std::vector<LaneTally> run_on_cpu<double>(const Replication&, std::span<const LaneSpec>, const BlockOptions&,
                                                   EngineCounters*, std::span<LaneRecord>);

}  // namespace pandora
