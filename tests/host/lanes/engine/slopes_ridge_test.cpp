// The ridge on slopes: eta_slopes = eta_1 / s^2 is the same as scaling the slopes' features by s under eta_1. If s is a
// power of two, scaling never rounds, so all engines must give the same bits.
#include <gtest/gtest.h>

#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

Replication with_scaled_slopes(Replication replication, float scale) {
  Contexts& contexts = replication.tape.contexts;
  for (int row = 0; row < contexts.rows; ++row)
    for (int k = 1; k < contexts.index_size; ++k)
      contexts.psi[static_cast<std::size_t>(row) * contexts.index_stride + k] *= scale;
  return replication;
}

EstimationOptions with_slopes(const char* schedule, double slopes) {
  EstimationOptions options{parse_refit(schedule), 1.0, 1.0};
  options.ridge_slopes = slopes;
  return options;
}

using AnyEngine = LaneTally (*)(const Replication&, const LaneSpec&, const EstimationOptions&, LaneRecord*);

LaneTally by_reference(const Replication& r, const LaneSpec& lane, const EstimationOptions& how, LaneRecord* record) {
  return run_reference_lane(r, lane, how, record);
}
template <class Real>
LaneTally by_vectors(const Replication& r, const LaneSpec& lane, const EstimationOptions& how, LaneRecord* record) {
  return run_on_cpu<Real>(r, std::span(&lane, 1), {how, 16}, nullptr, std::span(record, 1))[0];
}
template <class Real>
LaneTally as_on_a_device(const Replication& r, const LaneSpec& lane, const EstimationOptions& how, LaneRecord* record) {
  test::ScalarBackend backend;
  const UnitOfLanes unit{&r, {lane}};
  return engine::run_lanes<Real>(backend, std::span(&unit, 1), {how, 16}, nullptr, std::span(record, 1))[0][0];
}

class RidgeOnSlopes : public testing::TestWithParam<std::pair<const char*, AnyEngine>> {};
INSTANTIATE_TEST_SUITE_P(Engines, RidgeOnSlopes,
                         testing::ValuesIn(std::vector<std::pair<const char*, AnyEngine>>{
                             {"reference", by_reference},
                             {"single", by_vectors<float>},
                             {"double", by_vectors<double>},
                             {"device_single", as_on_a_device<float>},
                             {"device_double", as_on_a_device<double>}}),
                         [](const auto& engine) { return engine.param.first; });

std::vector<LaneSpec> learning_lanes(int T0) {
  std::vector<LaneSpec> lanes;
  for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
    lanes.push_back(test::dow_lane(reward, T0));
  lanes.push_back(test::dow_lane(RewardModel::known, T0, 0.0));  // the plug-in policy
  return lanes;
}

// A box gets 450 samples, because `tracking` takes Newton steps from 200 samples on.
TEST_P(RidgeOnSlopes, IsAScaleOfTheSlopes) {
  const AnyEngine run = GetParam().second;
  const Replication plain = test::small_replication(test::small_dimensions(2, 9, 2), Regime::B, 1, 450, 51);
  for (const float scale : {0.25f, 4.0f}) {
    const Replication scaled = with_scaled_slopes(plain, scale);
    for (const char* schedule : {"geometric:1.5", "tracking"})
      for (const int T0 : {0, 1})  // with 1, a box has no sample
        for (const LaneSpec& lane : learning_lanes(T0)) {
          SCOPED_TRACE(std::string(schedule) + " " + std::to_string(scale) + " T0 = " + std::to_string(T0));
          LaneRecord wanted, found, other;
          const LaneTally expected = run(scaled, lane, with_slopes(schedule, 0.0), &wanted);
          const LaneTally tally = run(plain, lane, with_slopes(schedule, 1.0 / (scale * scale)), &found);
          run(plain, lane, with_slopes(schedule, 0.0), &other);
          EXPECT_EQ(tally, expected);
          EXPECT_EQ(found.scores, wanted.scores);
          EXPECT_EQ(found.widths, wanted.widths);
          EXPECT_NE(other.scores, wanted.scores);
          for (std::size_t k = 0; k < found.rho.size(); ++k)
            ASSERT_EQ(found.rho[k], wanted.rho[k] * (k % 10 == 0 ? 1.0 : scale)) << k;
        }
  }
}

TEST_P(RidgeOnSlopes, OfTheSizeOfEta1ChangesNothing) {
  const AnyEngine run = GetParam().second;
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 7, 120, 52);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    for (const LaneSpec& lane : learning_lanes(7)) {
      LaneRecord absent, same;
      EXPECT_EQ(run(replication, lane, with_slopes(schedule, 1.0), &same),
                run(replication, lane, with_slopes(schedule, 0.0), &absent));
      EXPECT_EQ(same.scores, absent.scores);
    }
}

// A shrunk fit and LinUCB do not use it. They have their own ridges.
TEST_P(RidgeOnSlopes, IsNoConcernOfShrunkFitsAndLinUcb) {
  const AnyEngine run = GetParam().second;
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 7, 120, 53);
  std::vector<LaneSpec> lanes = {test::linucb_lane(7)};
  for (const PolicyVariant& variant : find_policy("shrunk_weitzman")->variants({0.3}))
    lanes.push_back(variant.lane(replication, 7));
  for (const char* schedule : {"geometric:1.5", "tracking"})
    for (const LaneSpec& lane : lanes) {
      LaneRecord absent, given;
      EXPECT_EQ(run(replication, lane, with_slopes(schedule, 30.0), &given),
                run(replication, lane, with_slopes(schedule, 0.0), &absent));
      EXPECT_EQ(given.scores, absent.scores);
    }
}

// With LinUCB's own ridge, every engine has the scores of the reference engine, which differ from those with the ridge
// 1.
TEST_P(RidgeOnSlopes, OfLinUcbIsItsOwn) {
  const AnyEngine run = GetParam().second;
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 7, 120, 53);
  const LaneSpec lane = test::linucb_lane(7);
  for (const double ridge : {0.1, 25.0})
    for (const char* schedule : {"geometric:1.5", "tracking"}) {
      EstimationOptions options = with_slopes(schedule, 0.0);
      LaneRecord plain, expected, actual;
      run_reference_lane(replication, lane, options, &plain);
      options.ridge_payoff = ridge;
      run_reference_lane(replication, lane, options, &expected);
      actual.decisions = &expected.outcomes;
      run(replication, lane, options, &actual);
      double off = 0.0, moved = 0.0;
      for (std::size_t at = 0; at < expected.scores.size(); ++at) {
        off = std::max(off, std::abs(actual.scores[at] - expected.scores[at]));
        moved = std::max(moved, std::abs(plain.scores[at] - expected.scores[at]));
      }
      EXPECT_LT(off, 1e-3) << ridge << " " << schedule;
      EXPECT_GT(moved, 0.05) << ridge << " " << schedule;
    }
}

// The blocked engine solves for slopes that can hardly move, and for slopes with next to no ridge.
TEST(RidgeOnSlopesOfAnySize, BlocksFollowTheReference) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 12, 2), Regime::B, 9, 150, 29);
  for (const double slopes : {1e-3, 0.1, 30.0, 1e4, 1e8})
    for (const char* schedule : {"geometric:1.5", "tracking"})
      for (const LaneSpec& lane : learning_lanes(9)) {
        LaneRecord expected, actual;
        run_reference_lane(replication, lane, with_slopes(schedule, slopes), &expected);
        actual.decisions = &expected.outcomes;
        run_on_cpu<float>(replication, std::span(&lane, 1), {with_slopes(schedule, slopes), 32}, nullptr,
                          std::span(&actual, 1));
        double worst = 0.0;
        for (std::size_t at = 0; at < expected.scores.size(); ++at)
          worst = std::max(worst, std::abs(actual.scores[at] - expected.scores[at]));
        EXPECT_LT(worst, 2e-3 / std::sqrt(std::min(slopes, 1.0))) << schedule << " " << slopes;
      }
}

}  // namespace
}  // namespace pandora
