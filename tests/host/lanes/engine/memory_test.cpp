// The memory in a plan is that of the engine's layout, for every policy.
#include <gtest/gtest.h>

#include "host/lanes/engine/cpu_backend.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(MemoryOnCpu, IsThatOfTheLayout) {
  const Dimensions dimensions = test::small_dimensions(3, 40, 5);
  const Replication replication = test::small_replication(dimensions, Regime::B, test::kCalibration, 50, 7);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 16};
    std::vector<LaneSpec> lanes = test::all_lanes(replication, {0, test::kCalibration});
    for (std::size_t first = 0; first < lanes.size(); ++first) {
      const std::vector<LaneSpec> some(lanes.begin() + static_cast<std::ptrdiff_t>(first), lanes.end());
      const UnitOfLanes unit{&replication, some};
      Arena measure;
      engine::Layout<float>(measure, std::span(&unit, 1), options, engine::CpuBackend().traits(),
                            LaneRecord::Keep::estimates);
      EXPECT_EQ(memory_on_cpu<float>({dimensions, test::kCalibration, 50}, some, options), measure.used());
    }
  }
}

}  // namespace
}  // namespace pandora
