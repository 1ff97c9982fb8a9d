// Runs the engine like a GPU, but on the CPU. Lanes are compared with the reference, alone with among others, and with
// teams of several fibers.
#include "host/lanes/engine/run_lanes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "pandora/policy.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::dow_lane;
using test::kCalibration;

template <class Real>
std::vector<std::vector<LaneTally>> run(std::span<const UnitOfLanes> units, const BlockOptions& options,
                                        std::span<LaneRecord> records = {}, EngineCounters* counters = nullptr) {
  test::ScalarBackend backend;
  return engine::run_lanes<Real>(backend, units, options, counters, records);
}

// Every lane follows the decisions of the reference. Its own numbers must be close to those of the reference.
void expect_follows(const Replication& replication, const std::vector<LaneSpec>& lanes, const BlockOptions& options,
                    double width_tolerance, double score_tolerance) {
  std::vector<LaneRecord> expected(lanes.size()), records(lanes.size());
  std::vector<LaneTally> tallies;
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    const LaneTally own = run_reference_lane(replication, lanes[k], options.estimation, &expected[k]);
    records[k].decisions = &expected[k].outcomes;
    LaneRecord following;  // the parts of its regret do not use its estimates of mu*
    following.decisions = records[k].decisions;
    tallies.push_back(run_reference_lane(replication, lanes[k], options.estimation, &following));
    EXPECT_EQ(tallies[k].utility, own.utility);
  }
  const UnitOfLanes unit{&replication, lanes};
  const auto actual = run<double>(std::span(&unit, 1), options, records);
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    EXPECT_EQ(actual[0][k], tallies[k]) << "lane " << k;
    ASSERT_EQ(records[k].scores.size(), expected[k].scores.size());
    for (std::size_t at = 0; at < expected[k].scores.size(); ++at) {
      // The width of a shrunk fit depends on estimates. That of a design matrix depends only on contexts.
      const double tolerance = lanes[k].fits_jointly() ? 1e-4 : width_tolerance;
      ASSERT_NEAR(records[k].widths[at], expected[k].widths[at], tolerance) << "lane " << k << " at " << at;
      ASSERT_NEAR(records[k].scores[at], expected[k].scores[at], score_tolerance) << "lane " << k << " at " << at;
      ASSERT_NEAR(records[k].bonuses[at], expected[k].bonuses[at], 20.0 * tolerance) << "lane " << k << " at " << at;
    }
  }
}

class RunLanesLengths : public testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(RunLanesLengths, DoubleFollowsTheReference) {
  const auto [B, schedule] = GetParam();
  const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, B};
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication =
        test::small_replication(test::small_dimensions(3, 5, 2), regime, kCalibration, 200, 11);
    expect_follows(replication, test::all_lanes(replication, {0, 2, kCalibration}), options, 1e-9, 1e-3);
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, RunLanesLengths,
                         testing::Combine(testing::Values(1, 7, 32),
                                          testing::Values("geometric:1.5", "tracking", "every:5")));

// There are eight boxes, m > 128, and a d that is no multiple of any size.
TEST(RunLanes, LargerShapes) {
  const Replication replication = test::small_replication(test::small_dimensions(8, 140, 7), Regime::B, 24, 60, 19);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    expect_follows(replication, {dow_lane(RewardModel::known, 24), dow_lane(RewardModel::learned, 24)},
                   {{parse_refit(schedule), 1.0, 1.0}, 32}, 1e-9, 1e-3);
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
    run<double>(std::span(&unit, 1), {}, std::span(&expected, 1));
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

TEST(RunLanes, OneFeatureOneBox) {
  Dimensions dimensions = test::small_dimensions(1, 1, 1);
  const Replication replication = test::small_replication(dimensions, Regime::A, 4, 33, 2);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    expect_follows(replication, test::all_lanes(replication, {0, 4}), {{parse_refit(schedule), 1.0, 1.0}, 32}, 1e-9,
                   1e-3);
}

// Single precision replays a lane in double at the paper's m. A GPU must keep the same bounds.
TEST(RunLanes, SinglePrecisionReplaysADoubleLane) {
  const Replication replication = test::small_replication({}, Regime::B, 50, 400, 23);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 32};
    const LaneSpec lane = dow_lane(RewardModel::learned, 50);
    LaneRecord expected;
    run_reference_lane(replication, lane, options.estimation, &expected);
    LaneRecord record;
    record.decisions = &expected.outcomes;
    const UnitOfLanes unit{&replication, {lane}};
    run<float>(std::span(&unit, 1), options, std::span(&record, 1));
    for (std::size_t at = 0; at < expected.scores.size(); ++at) {
      ASSERT_NEAR(record.widths[at], expected.widths[at], 2e-5 * expected.widths[at]) << schedule;
      ASSERT_NEAR(record.scores[at], expected.scores[at], 2e-3) << schedule;
    }
  }
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
      for (std::size_t k = 0; k < units[u].lanes.size(); k += 3) {
        const UnitOfLanes alone{units[u].replication, {units[u].lanes[k]}};
        EXPECT_EQ(run<float>(std::span(&alone, 1), options)[0][0], together[u][k]) << schedule << " lane " << k;
      }
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
  run<double>(std::span(&unit, 1), options, std::span(&one, 1));
  test::FiberBackend fibers(32);
  four.decisions = &one.outcomes;
  engine::run_lanes<double>(fibers, std::span(&unit, 1), options, nullptr, std::span(&four, 1));
  for (std::size_t at = 0; at < one.scores.size(); ++at) ASSERT_NEAR(four.scores[at], one.scores[at], 1e-6);
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
      for (std::size_t at = 0; at < whole[k].widths.size(); ++at)
        ASSERT_NEAR(damaged[k].widths[at], whole[k].widths[at], 1e-9) << schedule << " lane " << k;
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
