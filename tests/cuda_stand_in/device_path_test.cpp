// The device path where the tests that run on a GPU do not look.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "host/devices/device.hpp"
#include "host/engine/run_lanes.hpp"
#include "host/study/refit_text.hpp"
#include "pandora/error.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Work for a device selects no other: it runs where only that one can be selected, and nowhere else.
TEST(StandInDevice, AFixedDeviceIsTheOnlyOneThatIsUsed) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 4, 40, 3);
  const UnitOfLanes unit{&replication, test::all_lanes(replication, {0})};
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  const auto wanted = run_on_device(1, std::span(&unit, 1), options);
  ::setenv("STAND_IN_ONLY", "1", 1);
  EXPECT_TRUE(run_on_device(1, std::span(&unit, 1), options) == wanted);
  EXPECT_THROW(run_on_device(0, std::span(&unit, 1), options), Error);
  ::unsetenv("STAND_IN_ONLY");
}

}  // namespace
}  // namespace pandora
