// theta_hat on a schedule of its own: solved at growth and standing still in between, in every engine.
#include <gtest/gtest.h>

#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

EstimationOptions on_schedule(const char* schedule, const char* reward) {
  EstimationOptions options{parse_refit(schedule), 1.0, 2.0};
  options.refit_reward = parse_reward_refit(reward);
  return options;
}

void expect_near_reference(const LaneRecord& found, const LaneRecord& wanted) {
  for (std::size_t k = 0; k < wanted.theta.size(); ++k) EXPECT_NEAR(found.theta[k], wanted.theta[k], 1e-6) << k;
  ASSERT_EQ(found.scores.size(), wanted.scores.size());
  for (std::size_t at = 0; at < wanted.scores.size(); ++at)
    ASSERT_NEAR(found.scores[at], wanted.scores[at], 1e-3) << "score " << at;
}

TEST(RewardSchedule, BlocksFollowTheReference) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 5, 3), Regime::B, 5, 300, 61);
  std::vector<LaneSpec> lanes = {test::dow_lane(RewardModel::learned, 5), test::dow_lane(RewardModel::learned, 0)};
  for (const PolicyVariant& variant : find_policy("shrunk_weitzman")->variants({0.3}))
    if (variant.reward == "unknown") lanes.push_back(variant.lane(replication, 5));
  for (const char* schedule : {"geometric:1.5", "tracking", "every:5"})
    for (const char* reward : {"geometric:1", "geometric:1.5"})
      for (const LaneSpec& lane : lanes) {
        SCOPED_TRACE(std::string(schedule) + ", theta_hat " + reward + ", T0 " + std::to_string(lane.T0));
        const EstimationOptions options = on_schedule(schedule, reward);
        LaneRecord wanted, vectors, threads;
        run_reference_lane(replication, lane, options, &wanted);
        vectors.decisions = threads.decisions = &wanted.outcomes;
        run_on_cpu<double>(replication, std::span(&lane, 1), {options, 16}, nullptr, std::span(&vectors, 1));
        expect_near_reference(vectors, wanted);
        test::ScalarBackend backend;
        const UnitOfLanes unit{&replication, {lane}};
        engine::run_lanes<double>(backend, std::span(&unit, 1), {options, 16}, nullptr, std::span(&threads, 1));
        expect_near_reference(threads, wanted);
      }
}

TEST(RewardSchedule, StandsStillBetweenSolves) {
  const LaneSpec lane = test::dow_lane(RewardModel::learned, 8);
  const auto theta_after = [&](int periods, const char* reward) {
    const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 8, periods, 62);
    LaneRecord record;
    run_reference_lane(replication, lane, on_schedule("geometric:1.5", reward), &record);
    return record.theta;
  };
  // Solves at 8 samples, of the calibration, and at 16.
  EXPECT_EQ(theta_after(1, "geometric:2"), theta_after(7, "geometric:2"));
  EXPECT_NE(theta_after(7, "geometric:2"), theta_after(8, "geometric:2"));
  EXPECT_NE(theta_after(1, "tracking"), theta_after(7, "tracking"));
}

}  // namespace
}  // namespace pandora
