// The ridge on slopes: eta_slopes = eta_1 / s^2 is the same as scaling the slopes' features by s under eta_1. If s is a
// power of two, scaling never rounds, so all engines must give the same bits. A shrunk fit's slopes are divided by the
// factor, and the lane does the same.
#include <gtest/gtest.h>

#include "tests/reference/followers.hpp"

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

using AnyEngine = LaneTally (*)(const Replication&, const LaneSpec&, const BlockOptions&, LaneRecord*, EngineCounters*);

LaneTally by_reference(const Replication& replication, const LaneSpec& lane, const BlockOptions& options,
                       LaneRecord* record, EngineCounters*) {
  return run_reference_lane(replication, lane, options.estimation, record);
}

class RidgeOnSlopes : public testing::TestWithParam<std::pair<const char*, AnyEngine>> {
 protected:
  LaneTally run(const Replication& replication, const LaneSpec& lane, const EstimationOptions& how,
                LaneRecord* record) const {
    return GetParam().second(replication, lane, {how, 16}, record, nullptr);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, RidgeOnSlopes,
                         testing::ValuesIn(std::vector<std::pair<const char*, AnyEngine>>{
                             {"reference", by_reference},
                             {"single", test::run_vectors<float>},
                             {"double", test::run_vectors<double>},
                             {"device_single", test::run_scalars<float>},
                             {"device_double", test::run_scalars<double>}}),
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
      EXPECT_LT(test::largest_distance(actual.scores, expected.scores), 1e-3) << ridge << " " << schedule;
      EXPECT_GT(test::largest_distance(plain.scores, expected.scores), 0.05) << ridge << " " << schedule;
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
        test::run_vectors<float>(replication, lane, {with_slopes(schedule, slopes), 32}, &actual);
        EXPECT_LT(test::largest_distance(actual.scores, expected.scores), 2e-3 / std::sqrt(std::min(slopes, 1.0)))
            << schedule << " " << slopes;
      }
}

std::vector<PeriodOutcome> decisions_of(const Replication& replication, const LaneSpec& lane, const char* schedule,
                                        AnyEngine run) {
  LaneRecord record;
  run(replication, lane, {{parse_refit(schedule), 1.0, 1.0}, 32}, &record, nullptr);
  return record.outcomes;
}

int periods_that_differ(const std::vector<PeriodOutcome>& a, const std::vector<PeriodOutcome>& b) {
  int differ = 0;
  for (std::size_t t = 0; t < a.size(); ++t)
    differ += a[t].queried != b[t].queried || !std::equal(a[t].order, a[t].order + a[t].queried, b[t].order);
  return differ;
}

TEST(ShrunkFit, DoesTheSameOnFeaturesOfAnotherScale) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 8, 2), Regime::B, 0, 400, 5);
  for (const char* schedule : {"geometric:1.5", "tracking"})
    for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level})
      for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
        for (const AnyEngine run : {by_reference, test::run_vectors<double>}) {
          LaneSpec lane = shrunk_lane(0, reward, 0.2);
          lane.shrinkage = shrinkage;
          const auto expected = decisions_of(replication, lane, schedule, run);
          ASSERT_EQ(expected.size(), 400u);
          // Powers of two keep every digit of a feature, so that rounding differs little.
          for (const float factor : {0.125f, 8.0f})
            EXPECT_EQ(periods_that_differ(decisions_of(with_scaled_slopes(replication, factor), lane, schedule, run),
                                          expected),
                      0)
                << schedule << ", features times " << factor << (run == by_reference ? ", reference" : ", blocked");
        }
}

// Ridges that a study fixes are used as they are. With them, another scale of the features is another problem.
TEST(ShrunkFit, TakesFixedRidgesAsTheyAre) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 8, 2), Regime::B, 0, 400, 5);
  LaneSpec lane = shrunk_lane(0, RewardModel::known, 0.2);
  lane.shrinkage = Shrinkage::fixed;
  EXPECT_GT(
      periods_that_differ(decisions_of(with_scaled_slopes(replication, 8.0f), lane, "geometric:1.5", by_reference),
                          decisions_of(replication, lane, "geometric:1.5", by_reference)),
      0);
}

}  // namespace
}  // namespace pandora
