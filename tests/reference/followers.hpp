// A lane that follows the decisions of the reference engine: on vectors, and as a device runs it, with one thread.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/scalar_backend.hpp"
#include "tests/reference/small_problem.hpp"

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

/// Of every policy that learns, with and without a calibration.
inline std::vector<LaneSpec> lanes_that_learn(const Replication& replication) {
  std::vector<LaneSpec> out;
  for (const LaneSpec& lane : all_lanes(replication, {0, kCalibration}, {0.1}))
    if (lane.learning != Learning::none) out.push_back(lane);
  return out;
}

/// The lane under the reference engine's decisions, in blocks of several lengths on vectors and as a device runs it with
/// one thread: widths, scores and estimates are the reference's.
inline void expect_engines_follow(const Replication& replication, const LaneSpec& lane,
                                  const EstimationOptions& estimation) {
  LaneRecord expected;
  run_reference_lane(replication, lane, estimation, &expected);
  const auto expect_follows = [&](const char* where, const LaneRecord& actual) {
    SCOPED_TRACE(fmt::format("{}, T0 {}, fit {}, learned reward {}, score {}", where, lane.T0, int(lane.fit),
                             lane.learns_reward(), int(lane.score)));
    ASSERT_EQ(actual.scores.size(), expected.scores.size());
    const double width = lane.fits_jointly() ? (lane.learns_reward() ? 1e-3 : 1e-4) : 1e-7;
    for (std::size_t at = 0; at < expected.scores.size(); ++at) {
      ASSERT_NEAR(actual.widths[at], expected.widths[at], width) << at;
      ASSERT_NEAR(actual.scores[at], expected.scores[at], lane.learns_payoff() ? 1e-7 : 1e-3) << at;
    }
    for (std::size_t k = 0; k < expected.theta.size(); ++k) EXPECT_NEAR(actual.theta[k], expected.theta[k], 1e-4);
  };
  for (const int B : {1, 7, 32}) {
    LaneRecord actual;
    actual.decisions = &expected.outcomes;
    run_on_cpu<double>(replication, std::span(&lane, 1), {estimation, B}, nullptr, std::span(&actual, 1));
    expect_follows("vectors", actual);
  }
  const UnitOfLanes unit{&replication, {lane}};
  LaneRecord actual;
  actual.decisions = &expected.outcomes;
  ScalarBackend scalar;
  engine::run_lanes<double>(scalar, std::span(&unit, 1), {estimation, 32}, nullptr, std::span(&actual, 1));
  expect_follows("scalars", actual);
}

/// As a device runs DOW of an unknown reward and LinUCB with teams of several fibers: the decisions and scores of one
/// thread.
inline void expect_teams_follow(const Replication& replication, const EstimationOptions& estimation) {
  const UnitOfLanes unit{&replication, {dow_lane(RewardModel::learned, kCalibration), linucb_lane(kCalibration)}};
  const BlockOptions options{estimation, 16};
  ScalarBackend scalar;
  FiberBackend fibers(32);
  std::vector<LaneRecord> one(2), several(2);
  engine::run_lanes<double>(scalar, std::span(&unit, 1), options, nullptr, one);
  for (std::size_t k = 0; k < 2; ++k) several[k].decisions = &one[k].outcomes;
  engine::run_lanes<double>(fibers, std::span(&unit, 1), options, nullptr, several);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t at = 0; at < one[k].scores.size(); ++at)
      ASSERT_NEAR(several[k].scores[at], one[k].scores[at], 1e-6) << "lane " << k << " at " << at;
}

}  // namespace pandora::test
