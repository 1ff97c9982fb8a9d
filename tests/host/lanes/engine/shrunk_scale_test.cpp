// If features are multiplied by a factor, a shrunk fit's slopes are divided by it, and the lane does the same.
#include <gtest/gtest.h>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

LaneSpec shrunk_lane(Shrinkage shrinkage, RewardModel reward) {
  LaneSpec lane;
  lane.score = Score::learned_index;
  lane.learning = Learning::online;
  lane.reward = reward;
  lane.c_rho = 0.2;
  lane.bonus.kind = Bonus::log_ratio;
  lane.forced = 5;
  lane.fit = Fit::shrunk;
  lane.shrinkage = shrinkage;
  return lane;
}

Replication scaled(Replication replication, float factor) {
  Contexts& contexts = replication.tape.contexts;
  for (int row = 0; row < contexts.rows; ++row)
    for (int k = 1; k < contexts.index_size; ++k)
      contexts.psi[static_cast<std::size_t>(row) * contexts.index_stride + k] *= factor;
  return replication;
}

std::vector<PeriodOutcome> decisions(const Replication& replication, const LaneSpec& lane,
                                     const EstimationOptions& estimation, bool reference) {
  LaneRecord record;
  if (reference)
    run_reference_lane(replication, lane, estimation, &record);
  else
    run_on_cpu<double>(replication, std::span(&lane, 1), {estimation, 32}, nullptr, std::span(&record, 1));
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
        for (const bool reference : {true, false}) {
          const EstimationOptions estimation{parse_refit(schedule), 1.0, 1.0};
          const LaneSpec lane = shrunk_lane(shrinkage, reward);
          const auto expected = decisions(replication, lane, estimation, reference);
          ASSERT_EQ(expected.size(), 400u);
          // Powers of two keep every digit of a feature, so that rounding differs little.
          for (const float factor : {0.125f, 8.0f})
            EXPECT_EQ(
                periods_that_differ(decisions(scaled(replication, factor), lane, estimation, reference), expected), 0)
                << schedule << ", features times " << factor << (reference ? ", reference" : ", blocked");
        }
}

// Ridges that a study fixes are used as they are. With them, another scale of the features is another problem.
TEST(ShrunkFit, TakesFixedRidgesAsTheyAre) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 8, 2), Regime::B, 0, 400, 5);
  const EstimationOptions estimation{parse_refit("geometric:1.5"), 1.0, 1.0};
  const LaneSpec lane = shrunk_lane(Shrinkage::fixed, RewardModel::known);
  EXPECT_GT(periods_that_differ(decisions(scaled(replication, 8.0f), lane, estimation, true),
                                decisions(replication, lane, estimation, true)),
            0);
}

}  // namespace
}  // namespace pandora
