#include "host/lanes/engine/run_on_cpu.hpp"

#include <fmt/format.h>

#include "host/lanes/engine/cpu_backend.hpp"

namespace pandora {

std::string EngineSettings::text() const {
  if (kind == Kind::reference) return "reference, double precision";
  return fmt::format("blocked, {} precision, blocks of {}", precision == Precision::fp32 ? "single" : "double", block);
}

template <class Real>
std::vector<LaneTally> run_on_cpu(const Replication& replication, std::span<const LaneSpec> lanes,
                                  const BlockOptions& options, EngineCounters* counters,
                                  std::span<LaneRecord> records) {
  engine::CpuBackend backend;
  const UnitOfLanes unit{&replication, {lanes.begin(), lanes.end()}};
  return engine::run_lanes<Real>(backend, std::span(&unit, 1), options, counters, records)[0];
}

namespace {

// The sizes of a tape without its numbers, which a layout does not need.
template <class Real>
DeviceDemand demand(const TapeSize& size, const std::vector<LaneSpec>& lanes, const BlockOptions& options,
                    std::size_t units, const engine::BackendTraits& traits) {
  Replication replication;
  Tape& tape = replication.tape;
  tape.calibration_rows = size.calibration_rows;
  tape.online_rows = size.online_rows;
  tape.contexts.rows = tape.online_row(size.online_rows);
  tape.contexts.boxes = size.dimensions.boxes;
  tape.contexts.index_size = size.dimensions.index_size();
  tape.contexts.index_stride = padded_to_vector<float>(size.dimensions.index_size());
  tape.contexts.reward_features = size.dimensions.reward_features;
  Arena measure;
  const engine::Layout<Real> layout(measure, std::vector<UnitOfLanes>(units, {&replication, lanes}), options, traits,
                                    LaneRecord::Keep::estimates);
  return {measure.used(), layout.matrices.size()};
}

}  // namespace

template <class Real>
std::size_t memory_on_cpu(const TapeSize& size, const std::vector<LaneSpec>& lanes, const BlockOptions& options) {
  return demand<Real>(size, lanes, options, 1, engine::CpuBackend().traits()).bytes;
}

DeviceDemand demand_on_device(const TapeSize& tape, const std::vector<LaneSpec>& lanes, const BlockOptions& options,
                              std::size_t units, int multiprocessors) {
  return demand<float>(tape, lanes, options, units,
                       engine::traits_of_gpu(engine::kBlocksPerMultiprocessor * multiprocessors));
}

template std::size_t memory_on_cpu<float>(const TapeSize&, const std::vector<LaneSpec>&, const BlockOptions&);
template std::size_t memory_on_cpu<double>(const TapeSize&, const std::vector<LaneSpec>&, const BlockOptions&);

template std::vector<LaneTally> run_on_cpu<float>(const Replication&, std::span<const LaneSpec>, const BlockOptions&,
                                                  EngineCounters*, std::span<LaneRecord>);
template std::vector<LaneTally> run_on_cpu<double>(const Replication&, std::span<const LaneSpec>, const BlockOptions&,
                                                   EngineCounters*, std::span<LaneRecord>);

}  // namespace pandora
