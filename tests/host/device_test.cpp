// The lockstep engine on a GPU against the same bodies on the CPU.
#include "host/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/lockstep_engine.hpp"
#include "host/policies/policy.hpp"
#include "host/study.hpp"
#include "tests/reference/require_gpu.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

BlockOptions options_of(const char* schedule, int B = 32) {
  return {{RefitSchedule::parse(schedule), 1.0, 1.0}, B};
}

// The device follows the CPU's decisions: widths and indices differ by single-precision rounding alone.
void expect_replays(const Replication& replication, const std::vector<LaneSpec>& lanes, const BlockOptions& options) {
  const UnitOfLanes unit{&replication, lanes};
  std::vector<LaneRecord> expected(lanes.size()), actual(lanes.size());
  lockstep::HostBackend host;
  const auto tallies = lockstep::run_lockstep<float>(host, std::span(&unit, 1), options, nullptr, expected);
  for (std::size_t k = 0; k < lanes.size(); ++k) actual[k].decisions = &expected[k].outcomes;
  EXPECT_EQ(run_on_device(0, std::span(&unit, 1), options, nullptr, actual), tallies);
  for (std::size_t k = 0; k < lanes.size(); ++k)
    for (std::size_t at = 0; at < expected[k].scores.size(); ++at) {
      ASSERT_NEAR(actual[k].widths[at], expected[k].widths[at], 2e-5 * expected[k].widths[at] + 1e-6) << "lane " << k;
      ASSERT_NEAR(actual[k].scores[at], expected[k].scores[at], 2e-3) << "lane " << k << " at " << at;
    }
}

TEST(DeviceGpu, ReplaysEveryPolicy) {
  PANDORA_REQUIRE_GPU();
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication = test::small_replication(test::small_dimensions(3, 5, 2), regime, 12, 200, 11);
    for (const char* schedule : {"geometric:1.5", "tracking", "every:5"})
      expect_replays(replication, test::all_lanes(replication, {0, 2, 12}), options_of(schedule));
  }
}

// Sizes around a warp, around what a block holds, and blocks that divide nothing.
TEST(DeviceGpu, OddShapes) {
  PANDORA_REQUIRE_GPU();
  struct Case {
    int boxes, context, features, B;
  };
  for (const Case c : {Case{1, 1, 1, 1}, Case{2, 30, 3, 31}, Case{3, 32, 10, 33}, Case{8, 140, 7, 32}}) {
    const Replication replication =
        test::small_replication(test::small_dimensions(c.boxes, c.context, c.features), Regime::B, 16, 100, 19);
    for (const char* schedule : {"geometric:1.5", "tracking"})
      expect_replays(replication, test::all_lanes(replication, {0, 16}), options_of(schedule, c.B));
  }
}

TEST(DeviceGpu, ThePapersShape) {
  PANDORA_REQUIRE_GPU();
  const Replication replication = test::small_replication({}, Regime::B, 50, 1000, 23);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    expect_replays(replication, test::all_lanes(replication, {50}), options_of(schedule));
}

TEST(DeviceGpu, ALaneAloneAndAmongManyReplicationsGivesTheSameBytes) {
  PANDORA_REQUIRE_GPU();
  std::vector<Replication> replications;
  for (std::uint32_t r = 0; r < 3; ++r)
    replications.push_back(test::small_replication(test::small_dimensions(3, 9, 3), Regime::B, 12, 300, 7, r));
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    std::vector<UnitOfLanes> units;
    for (const Replication& replication : replications)
      units.push_back({&replication, test::all_lanes(replication, {0, 5, 12})});
    const auto together = run_on_device(0, units, options_of(schedule));
    EXPECT_EQ(run_on_device(0, units, options_of(schedule)), together) << "a second run differs";
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t k = 0; k < units[u].lanes.size(); k += 5) {
        const UnitOfLanes alone{units[u].replication, {units[u].lanes[k]}};
        EXPECT_EQ(run_on_device(0, std::span(&alone, 1), options_of(schedule))[0][0], together[u][k]);
      }
  }
}

// On their own decisions device and CPU part ways at a near-tie; their mean utilities must agree.
TEST(DeviceGpu, PairedUtilityOver24Replications) {
  PANDORA_REQUIRE_GPU();
  constexpr int kReplications = 24;
  std::vector<Replication> replications;
  for (std::uint32_t r = 0; r < kReplications; ++r)
    replications.push_back(test::small_replication(test::small_dimensions(3, 20, 4), Regime::B, 12, 1500, 5, r));
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    std::vector<UnitOfLanes> units;
    for (const Replication& replication : replications) {
      std::vector<LaneSpec> lanes;
      for (const PolicyVariant& variant : find_policy("dow")->variants({0.1}))
        lanes.push_back(variant.lane(replication, 12));
      units.push_back({&replication, lanes});
    }
    const auto device = run_on_device(0, units, options_of(schedule));
    lockstep::HostBackend host;
    const auto cpu = lockstep::run_lockstep<float>(host, units, options_of(schedule));
    double sum = 0.0, squares = 0.0;
    for (int r = 0; r < kReplications; ++r) {
      const double d = (device[r][0].utility - cpu[r][0].utility) / device[r][0].periods;
      sum += d;
      squares += d * d;
    }
    const double mean = sum / kReplications;
    const double error = std::sqrt(std::max(squares / kReplications - mean * mean, 0.0) / (kReplications - 1));
    EXPECT_LE(std::abs(mean), 2 * error + 1e-12) << schedule;
  }
}

// The tape in every bit; indices but for the order of summation.
TEST(DeviceGpu, PreparesAReplicationAsTheCpuDoes) {
  PANDORA_REQUIRE_GPU();
  Study study;
  study.environments.assign(paper_environments().begin(), paper_environments().end());
  study.replications = 2;
  study.periods = 2000;
  const Plan plan = make_plan(study);
  const UnitPreparer prepare = prepare_on_device(0, study, plan);
  for (const Unit& unit : plan.units) {
    OrderStatistics order, expected_order;
    const Replication actual = prepare(unit, &order),
                      expected = prepare_replication(study, plan, unit, &expected_order);
    EXPECT_EQ(actual.instance.theta, expected.instance.theta);
    EXPECT_EQ(actual.tape.contexts.psi, expected.tape.contexts.psi);
    EXPECT_EQ(actual.tape.contexts.scale, expected.tape.contexts.scale);
    EXPECT_EQ(actual.tape.contexts.context_cost, expected.tape.contexts.context_cost);
    EXPECT_EQ(actual.tape.phi, expected.tape.phi);
    EXPECT_EQ(actual.tape.mu, expected.tape.mu);
    EXPECT_EQ(actual.tape.cost, expected.tape.cost);
    EXPECT_EQ(actual.tape.reward, expected.tape.reward);
    EXPECT_EQ(order.permutations, expected_order.permutations);
    const std::size_t first = expected.tape.at(expected.tape.online_row(0), 0);
    for (std::size_t at = first; at < expected.sigma.size(); ++at)
      ASSERT_NEAR(actual.sigma[at], expected.sigma[at], 1e-10) << at;
  }
}

TEST(DeviceReportTest, SaysWhyThereIsNone) {
  const DeviceReport report = find_devices();
  EXPECT_EQ(report.none.empty(), !report.usable().empty());
}

}  // namespace
}  // namespace pandora
