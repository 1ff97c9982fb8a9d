// Runs the engine like a GPU, but on the CPU. Lanes are compared alone with among others, and with teams of several
// fibers. run_on_cpu_test.cpp compares them with the reference.
#include "host/lanes/engine/run_lanes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/reference/followers.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

template <class Real>
std::vector<std::vector<LaneTally>> run(std::span<const UnitOfLanes> units, const BlockOptions& options,
                                        std::span<LaneRecord> records = {}) {
  test::ScalarBackend backend;
  return engine::run_lanes<Real>(backend, units, options, nullptr, records);
}

// The backend's library forms products that are too large for a team's memory, whatever else runs.
TEST(RunLanes, LargeMatricesAreFormedByALibrary) {
  struct : test::ScalarBackend {
    int forms = 0;
    void form(const engine::FormBlock<float>& body, int matrices) {
      ++forms;
      EXPECT_EQ(matrices, 2);
      ScalarBackend::form(body, matrices);
    }
  } library;
  for (const int context : {159, 180}) {
    const Replication replication = test::small_replication(test::small_dimensions(2, context, 2), Regime::B, 8, 70, 3);
    const UnitOfLanes unit{&replication, {dow_lane(RewardModel::known, 8)}};
    LaneRecord expected, actual;
    test::run_scalars<double>(replication, unit.lanes[0], {}, &expected);
    actual.decisions = &expected.outcomes;
    library.forms = 0;
    engine::run_lanes<float>(library, std::span(&unit, 1), {}, nullptr, std::span(&actual, 1));
    EXPECT_EQ(library.forms, context < 160 ? 0 : 3);  // one for each block of 32 periods
    for (std::size_t at = 0; at < expected.widths.size(); ++at)
      ASSERT_NEAR(actual.widths[at], expected.widths[at], 2e-5 * expected.widths[at]);
  }
}

class CountingBackend : public test::ScalarBackend {
 public:
  std::map<std::string, int> launches;
  int downloads = 0, cohort = 0;
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = ScalarBackend::traits();
    traits.cohort = cohort;
    return traits;
  }
  template <class Body>
  void blocks(int items, const Body& body) {
    ++launches[Body::kName];
    ScalarBackend::blocks(items, body);
  }
  template <class Body>
  void warps(int items, const Body& body) {
    ++launches[Body::kName];
    ScalarBackend::warps(items, body);
  }
  void download(void* to, const void* from, std::size_t bytes) {
    ++downloads;
    ScalarBackend::download(to, from, bytes);
  }
};

// Every launch and download takes a device microseconds. Counts those of a block, beside its rounds of solves.
TEST(RunLanes, FewLaunchesAndDownloadsPerBlock) {
  constexpr int kPeriods = 3200, kBlocks = kPeriods / 32;
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, kPeriods, 11);
  const UnitOfLanes unit{&replication, test::all_lanes(replication, {0, kCalibration})};
  CountingBackend counting;
  engine::run_lanes<float>(counting, std::span(&unit, 1), {});
  auto& launches = counting.launches;
  EXPECT_EQ(launches["advance"], kBlocks + 1);  // one launch ends a block and starts the next
  EXPECT_EQ(counting.downloads, launches["walk"] + 1) << "counts of what waits, and at the end tallies";
  EXPECT_LE(launches["solve"], launches["walk"] - kBlocks);
  EXPECT_LE(launches["theta"], launches["walk"] - kBlocks);
  EXPECT_LE(launches["walk"], 4 * kBlocks) << "few lanes wait after the first blocks";
  EXPECT_EQ(launches["form"], 0);
  // In cohorts there is one launch for 16 blocks, and the host waits for nothing in between.
  CountingBackend cohorts;
  cohorts.cohort = 4;
  engine::run_lanes<float>(cohorts, std::span(&unit, 1), {});
  EXPECT_EQ(cohorts.launches["cohorts"], (kBlocks + 15) / 16);
  for (const char* stage : {"advance", "walk", "solve", "theta"}) EXPECT_EQ(cohorts.launches[stage], 0) << stage;
  EXPECT_EQ(cohorts.downloads, 1) << "tallies";
}

TEST(RunLanes, ALaneAloneAndAmongManyReplicationsGivesTheSameBytes) {
  std::vector<Replication> replications;
  for (std::uint32_t r = 0; r < 3; ++r)
    replications.push_back(
        test::small_replication(test::small_dimensions(3, 9, 3), Regime::B, kCalibration, 150, 7, r));
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 32};
    std::vector<UnitOfLanes> units;
    for (const Replication& replication : replications)
      units.push_back({&replication, test::all_lanes(replication, {0, 5, kCalibration})});
    const auto together = run<float>(units, options);
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t k = 0; k < units[u].lanes.size(); k += 3)
        EXPECT_EQ(test::run_scalars<float>(replications[u], units[u].lanes[k], options), together[u][k])
            << schedule << " lane " << k;
  }
}

// The work of a team between two sync() does not depend on the members' order. It gives the bits of one thread.
TEST(RunLanes, TeamsOfFibersGiveTheSameBytes) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, kCalibration, 40, 13);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 16};
    const UnitOfLanes unit{&replication, test::all_lanes(replication, {0, kCalibration})};
    const auto serial = run<float>(std::span(&unit, 1), options);
    test::FiberBackend fibers(32);
    const auto parallel = engine::run_lanes<float>(fibers, std::span(&unit, 1), options);
    EXPECT_EQ(parallel, serial) << schedule;
  }
}

// A team larger than m sums samples in groups. The order of the sum differs, and the estimate is the same.
TEST(RunLanes, GroupsOfATeamShareASum) {
  const Replication replication =
      test::small_replication(test::small_dimensions(2, 1, 2), Regime::B, kCalibration, 300, 17);
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  const UnitOfLanes unit{&replication, {dow_lane(RewardModel::known, 0)}};
  LaneRecord one, four;
  test::run_scalars<double>(replication, unit.lanes[0], options, &one);
  test::FiberBackend fibers(32);
  four.decisions = &one.outcomes;
  engine::run_lanes<double>(fibers, std::span(&unit, 1), options, nullptr, std::span(&four, 1));
  EXPECT_LE(test::largest_distance(four.scores, one.scores), 1e-6);
}

// If V^-1 is damaged so much that it cannot belong to a design matrix, it is rebuilt from the samples, and so is Hinv.
class OnceDamagingBackend : public test::ScalarBackend {
 public:
  template <class Body>
  void blocks(int items, const Body& body) {
    if constexpr (std::is_same_v<Body, engine::AdvanceBlock<float>> ||
                  std::is_same_v<Body, engine::AdvanceBlock<double>>)
      if (++blocks_begun_ == 3)
        for (int item = 0; item < items; ++item) {
          const engine::Shape& shape = body.problem.shape;
          const engine::StoredInverse<std::remove_pointer_t<decltype(body.problem.lanes->box[0].rho)>> stored(shape,
                                                                                                              false);
          const auto& box = body.problem.lanes[item / shape.A].box[item % shape.A];
          for (const auto& g : {box.design, box.curvature})
            for (int k = 0; k < shape.m && g.P != nullptr; ++k) g.P[stored.at(k, k)] = -1;
        }
    test::ScalarBackend::blocks(items, body);
  }

 private:
  int blocks_begun_ = 0;
};

TEST(RunLanes, ADamagedInverseIsRebuilt) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, 96, 31);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 16};
    const UnitOfLanes unit{&replication,
                           {dow_lane(RewardModel::learned, kCalibration), test::linucb_lane(kCalibration)}};
    std::vector<LaneRecord> whole(2), damaged(2);
    run<double>(std::span(&unit, 1), options, whole);
    for (std::size_t k = 0; k < 2; ++k) damaged[k].decisions = &whole[k].outcomes;
    OnceDamagingBackend backend;
    EngineCounters counters;
    engine::run_lanes<double>(backend, std::span(&unit, 1), options, &counters, damaged);
    EXPECT_EQ(counters.repairs, std::string(schedule) == "tracking" ? 9u : 6u);
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_LE(test::largest_distance(damaged[k].widths, whole[k].widths), 1e-9) << schedule << " lane " << k;
  }
}

// A device that is too small for all replications takes them in halves, with the same results.
class SmallBackend : public test::ScalarBackend {
 public:
  explicit SmallBackend(std::size_t limit) : limit_(limit) {}
  auto allocate(std::size_t bytes) {
    largest_ = std::max(largest_, bytes);
    if (bytes > limit_) throw OutOfMemory(bytes);
    ++granted_;
    return test::ScalarBackend::allocate(bytes);
  }
  std::size_t largest_ = 0;
  int granted_ = 0;

 private:
  std::size_t limit_;
};

TEST(RunLanes, TooLittleMemoryHalvesTheWork) {
  std::vector<Replication> replications;
  for (std::uint32_t r = 0; r < 5; ++r)
    replications.push_back(test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, kCalibration, 50, 7, r));
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  std::vector<UnitOfLanes> units;
  for (const Replication& replication : replications)
    units.push_back({&replication, test::all_lanes(replication, {0})});
  SmallBackend large(~std::size_t{0});
  const auto expected = engine::run_in_memory<float>(large, units, options);
  SmallBackend half(large.largest_ / 2);
  EXPECT_EQ(engine::run_in_memory<float>(half, units, options), expected);
  EXPECT_GE(half.granted_, 2);
  SmallBackend tiny(1000);
  EXPECT_THROW(engine::run_in_memory<float>(tiny, units, options), OutOfMemory);
}

}  // namespace
}  // namespace pandora
