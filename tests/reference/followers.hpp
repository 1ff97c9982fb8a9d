// A lane that follows the decisions of the reference engine: on vectors, and as a device runs it, with one thread.
#pragma once

#include <array>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "tests/reference/scalar_backend.hpp"

namespace pandora::test {

struct Follower {
  LaneRecord record;
  LaneTally tally;
};

/// In double, in blocks of 32 periods.
inline std::array<Follower, 2> followers(const Replication& replication, const LaneSpec& lane,
                                         const EstimationOptions& estimation, const LaneRecord& expected) {
  const BlockOptions options{estimation, 32};
  std::array<Follower, 2> out;
  auto& [vectors, scalars] = out;
  vectors.record.decisions = scalars.record.decisions = &expected.outcomes;
  vectors.tally =
      run_on_cpu<double>(replication, std::span(&lane, 1), options, nullptr, std::span(&vectors.record, 1))[0];
  const UnitOfLanes unit{&replication, {lane}};
  ScalarBackend backend;
  scalars.tally =
      engine::run_lanes<double>(backend, std::span(&unit, 1), options, nullptr, std::span(&scalars.record, 1))[0][0];
  return out;
}

}  // namespace pandora::test
