// Checks that several versions of a lane agree. The reference engine is compared with the naive lane. Other engines,
// and a policy by code with Weitzman's rule, are compared with the reference engine.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/naive_lane.hpp"
#include "tests/reference/scalar_backend.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

/// The lane as an engine plays it under the replication's actions.
inline LaneSpec armed(LaneSpec lane, const Replication& replication) {
  if (replication.actions.wide()) play_arms(lane, replication.actions, replication.tape.boxes());
  return lane;
}

/// Expects the same decisions in every period, scores and widths to 1e-6, and summed utilities to 1e-9.
inline LaneTally expect_naive_lane(const Replication& replication, const LaneSpec& lane,
                                   const EstimationOptions& options) {
  SCOPED_TRACE(fmt::format("T0 {}, fit {}, learned reward {}, order {}, score {}, stop {}, unopened {}", lane.T0,
                           int(lane.fit), lane.learns_reward(), int(lane.order), int(lane.score), int(lane.stop),
                           lane.unopened));
  const naive::Result wanted = naive::run_lane(replication, lane, options);
  std::size_t seen = 0;
  bool same = true;
  const LaneTally tally = run_observed(replication, armed(lane, replication), options, [&](const PeriodView& view) {
    if (!same) return;  // paths differ for good after the first difference: one report is enough
    const naive::Period& period = wanted.periods[seen++];
    const Actions& actions = replication.actions;
    const int outside = actions.outside_arm(replication.tape.boxes());
    std::vector<int> queried, openings;
    for (int k = 0; k < view.outcome->queried; ++k) {
      if (view.outcome->order[k] == outside) continue;
      queried.push_back(actions.box_of(view.outcome->order[k]));
      openings.push_back(actions.opening_of(view.outcome->order[k]));
    }
    EXPECT_EQ(queried, period.queried) << "period " << view.period;
    EXPECT_EQ(openings, period.openings) << "period " << view.period;
    const int deployed = view.outcome->deployed;
    EXPECT_EQ(deployed == outside ? -1 : actions.box_of(deployed), period.deployed) << "period " << view.period;
    EXPECT_EQ(deployed == outside ? 0 : actions.opening_of(deployed), period.deployed_opening) << view.period;
    for (std::size_t a = 0; a < period.score.size(); ++a) {
      EXPECT_NEAR(view.score[a], period.score[a], 1e-6) << "period " << view.period << ", box " << a;
      EXPECT_NEAR(view.width[a], period.width[a], 1e-6) << "period " << view.period << ", box " << a;
    }
    same = !testing::Test::HasFailure();
  });
  EXPECT_EQ(tally.periods, static_cast<int>(wanted.periods.size()));
  EXPECT_NEAR(tally.utility, wanted.utility, 1e-9);
  EXPECT_NEAR(tally.realised_utility, wanted.realised_utility, 1e-9);  // also with rewards that are never told
  return tally;
}

/// Runs a lane by itself, on vectors. `record` may be null.
template <class Real>
LaneTally run_vectors(const Replication& replication, const LaneSpec& lane, const BlockOptions& options,
                      LaneRecord* record = nullptr, EngineCounters* counters = nullptr) {
  const std::span records(record, record != nullptr ? 1 : 0);
  return run_on_cpu<Real>(replication, std::span(&lane, 1), options, counters, records)[0];
}

/// The same like a device with one thread.
template <class Real>
LaneTally run_scalars(const Replication& replication, const LaneSpec& lane, const BlockOptions& options,
                      LaneRecord* record = nullptr, EngineCounters* counters = nullptr) {
  const UnitOfLanes unit{&replication, {lane}};
  const std::span records(record, record != nullptr ? 1 : 0);
  ScalarBackend scalar;
  return engine::run_lanes<Real>(scalar, std::span(&unit, 1), options, counters, records)[0][0];
}

/// The largest distance between the numbers of two lists; NaN if a number is, or if the lists' lengths differ.
inline double largest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : std::nan("");
  for (std::size_t k = 0; k < a.size() && !std::isnan(largest); ++k) {
    const double distance = std::abs(a[k] - b[k]);
    if (!(distance <= largest)) largest = distance;
  }
  return largest;
}

/// The lanes of every policy that learns, with and without a calibration.
inline std::vector<LaneSpec> lanes_that_learn(const Replication& replication) {
  std::vector<LaneSpec> out;
  for (const LaneSpec& lane : all_lanes(replication, {0, kCalibration}, {0.1}))
    if (lane.learning != Learning::none) out.push_back(lane);
  return out;
}

/// Runs the lane with the reference engine's decisions, in blocks of several lengths: on vectors, and like a device
/// with one thread, which takes longer. Expects the tally, widths, scores and estimates of the reference engine.
inline void expect_engines_follow(const Replication& replication, const LaneSpec& lane,
                                  const EstimationOptions& estimation, std::initializer_list<int> lengths = {1, 7, 32},
                                  std::initializer_list<int> scalar_lengths = {32}) {
  LaneRecord expected;
  const LaneTally reference = run_reference_lane(replication, lane, estimation, &expected);
  LaneRecord following;  // the parts of its regret do not use its estimates of mu*
  following.decisions = &expected.outcomes;
  const LaneTally followed = run_reference_lane(replication, lane, estimation, &following);
  EXPECT_EQ(followed.utility, reference.utility);
  const auto expect_follows = [&](const char* where, const auto& run, int B) {
    SCOPED_TRACE(fmt::format("{}, blocks of {}, T0 {}, fit {}, learned reward {}, score {}", where, B, lane.T0,
                             int(lane.fit), lane.learns_reward(), int(lane.score)));
    LaneRecord actual;
    actual.decisions = &expected.outcomes;
    const LaneTally tally = run(replication, lane, {estimation, B}, &actual, nullptr);
    EXPECT_EQ(tally, followed);
    const auto sum = [](const RegretParts& parts) {
      return parts.wrong_order + parts.too_early + parts.too_many + parts.wrong_deployment;
    };
    EXPECT_NEAR(sum(tally.regret), sum(reference.regret), 1e-9);
    ASSERT_EQ(actual.scores.size(), expected.scores.size());
    // Rounding alone moves widths by about 1e-10, by 1e-8 where samples fade, and the solvers stop within 3e-4 widths of
    // the minimum. If such an error of theta_hat puts a learned reward on the other side of an index, a sample of a
    // joint fit loses its weight.
    const double rounding = estimation.forgetting.half_life > 0.0 ? 1e-7 : 1e-9;
    const double width = lane.fits_jointly() ? (lane.learns_reward() ? 1e-3 : 1e-4) : rounding;
    // With tied slopes such a sample moves the indices of all boxes of its group.
    const double score = lane.fits_tied() && lane.learns_reward() ? 5e-3 : 1e-3;
    for (std::size_t at = 0; at < expected.scores.size(); ++at) {
      ASSERT_NEAR(actual.widths[at], expected.widths[at], width) << at;
      ASSERT_NEAR(actual.scores[at], expected.scores[at], lane.learns_payoff() ? 1e-7 : score) << at;
      ASSERT_NEAR(actual.bonuses[at], expected.bonuses[at], 20.0 * width) << at;
    }
    for (std::size_t k = 0; k < expected.theta.size(); ++k) EXPECT_NEAR(actual.theta[k], expected.theta[k], 1e-4);
  };
  for (const int B : lengths) expect_follows("vectors", run_vectors<double>, B);
  for (const int B : scalar_lengths) expect_follows("scalars", run_scalars<double>, B);
}

/// Expects that a policy by code, with the same estimator, has DOW's numbers in every digit.
inline void expect_twins(const Replication& replication, const EstimationOptions& estimation) {
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned}) {
    const LaneSpec lane = dow_lane(reward, kCalibration);
    WeitzmanPolicy twin(replication, lane, estimation);
    EXPECT_EQ(run_custom_lane(replication, twin, kCalibration), run_reference_lane(replication, lane, estimation));
  }
}

/// Runs DOW with an unknown reward, and LinUCB, like a device with teams of several fibers. Expects the scores of one
/// thread, under its decisions.
inline void expect_teams_follow(const Replication& replication, const EstimationOptions& estimation) {
  const UnitOfLanes unit{&replication,
                         {armed(dow_lane(RewardModel::learned, kCalibration), replication),
                          armed(linucb_lane(kCalibration), replication)}};
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
