// Properties of the device path that the tests on a GPU do not check.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/engine/run_lanes.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"
#include "tests/cuda_stand_in/banks.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

extern "C" {
void stand_in_watch(const char* part);
bool stand_in_watched(int n, unsigned* blocks, std::size_t* read, std::size_t* written);
double stand_in_wavefronts(double least, double* worst);
bool stand_in_looks();
}

namespace pandora {
namespace {

// Work for a device selects no other device. So it runs if only this device can be selected, and fails if only another
// one can.
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

// A block of 32 periods reads P once from the device's memory and writes it once, and only its lower triangle. The test
// counts this traffic at the paper's m. With five boxes, lanes go stage by stage, so each launch does one block of
// periods.
TEST(StandInDevice, ABlockOfPeriodsMovesEachMatrixOnce) {
  Dimensions five;
  five.boxes = 5;
  const Replication replication = test::small_replication(five, Regime::A, 0, 96, 3);
  const UnitOfLanes unit{&replication, {test::dow_lane(RewardModel::known, 0)}};
  stand_in_watch("AdvanceBlock");
  run_on_device(0, std::span(&unit, 1), {{parse_refit("every:96"), 1.0, 1.0}, 32});
  stand_in_watch(nullptr);
  unsigned blocks = 0;
  std::size_t read = 0, written = 0;
  if (!stand_in_looks()) return;
  ASSERT_TRUE(stand_in_watched(0, &blocks, &read, &written));
  EXPECT_EQ(blocks, 5u);  // one for each box
  constexpr double kTriangle = 91 * 8 * 8 * 4, kImages = 32 * 104 * 4, kGram = 32 * 32 * 4;
  const auto per_box = [](std::size_t bytes) { return static_cast<double>(bytes) / 5; };
  EXPECT_LE(per_box(read), kTriangle + kImages + 5000);  // P, the contexts, and small arrays such as predictions
  EXPECT_LE(per_box(written), kImages + kGram + 1000);
  for (const int launch : {1, 2}) {  // the end of one block and the start of the next
    ASSERT_TRUE(stand_in_watched(launch, &blocks, &read, &written));
    EXPECT_LE(per_box(read), kTriangle + 2 * kImages + kGram + 5000);  // also images and columns of periods
    EXPECT_LE(per_box(written), kTriangle + kImages + kGram + 1000);
    EXPECT_GE(per_box(read + written), 1.9 * kTriangle + 2 * kImages);
  }
}

// Tiles of 8 x 8 that lie 64 numbers apart begin in the same bank. Eight threads that read four numbers each must then
// wait for each other.
TEST(StandInDevice, ConflictsOfBanksAreCounted) {
  for (const auto& [stride, ratio] : {std::pair{64, 8.0}, std::pair{68, 1.0}}) {
    stand_in::BankTraffic traffic;
    int code = 0;
    for (unsigned thread = 0; thread < 32; ++thread)
      traffic.add(0, thread, &code, static_cast<std::size_t>(thread) * static_cast<std::size_t>(stride) * 4, 16);
    const auto& sums = traffic.finish();
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_EQ(sums.begin()->second.wavefronts, ratio * sums.begin()->second.ideal) << stride;
  }
}

// When a cohort accesses shared memory, the threads of a warp seldom want the same bank at once.
TEST(StandInDevice, CohortsHaveFewConflictsInSharedMemory) {
  Dimensions paper;
  paper.radius_draws = 2048;
  const Replication replication = test::small_replication(paper, Regime::A, 50, 64, 3);
  const UnitOfLanes unit{&replication,
                         {test::dow_lane(RewardModel::learned, 50), test::dow_lane(RewardModel::known, 50)}};
  stand_in_watch("RunCohort");
  run_on_device(0, std::span(&unit, 1), {{parse_refit("geometric:1.5"), 1.0, 1.0}, 32});
  stand_in_watch(nullptr);
  if (!stand_in_looks()) return;
  double worst = 0.0;
  const double all = stand_in_wavefronts(0.01, &worst);
  EXPECT_GE(all, 1.0) << "nothing was seen";
  EXPECT_LE(all, 1.5);
  // The worst place is the Cholesky factor. The tiles that eight threads update lie one after the other, except at the
  // end of a row of tiles.
  EXPECT_LE(worst, 2.2);
}

}  // namespace
}  // namespace pandora
