// The estimates of lanes at their end, from every engine.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(LearnedEstimates, AreThoseOfTheReferenceEngine) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 10, 90, 3);
  for (const LaneSpec& spec : test::all_lanes(replication, {0, 10})) {
    LaneRecord expected, actual;
    actual.keep = LaneRecord::Keep::estimates;
    const EstimationOptions estimation;
    const LaneTally reference = run_reference_lane(replication, spec, estimation, &expected);
    LaneRecord with_periods;
    with_periods.decisions = &expected.outcomes;
    const BlockOptions options{estimation, 32};
    const LaneTally followed =
        run_on_cpu<double>(replication, std::span(&spec, 1), options, nullptr, std::span(&with_periods, 1))[0];
    const LaneTally alone = run_on_cpu<double>(replication, std::span(&spec, 1), options)[0];
    const LaneTally kept =
        run_on_cpu<double>(replication, std::span(&spec, 1), options, nullptr, std::span(&actual, 1))[0];
    EXPECT_EQ(kept, alone);  // keeping estimates changes nothing
    EXPECT_EQ(followed.periods, reference.periods);
    EXPECT_TRUE(actual.outcomes.empty());
    EXPECT_EQ(expected.rho.size(), spec.learns_scores() ? 3u * 7u : 0u);
    EXPECT_EQ(expected.theta.size(), spec.learns_reward() ? 2u : 0u);
    ASSERT_EQ(with_periods.rho.size(), expected.rho.size());
    ASSERT_EQ(with_periods.theta.size(), expected.theta.size());
    for (std::size_t i = 0; i < expected.rho.size(); ++i) EXPECT_NEAR(with_periods.rho[i], expected.rho[i], 1e-5) << i;
    for (std::size_t i = 0; i < expected.theta.size(); ++i) EXPECT_NEAR(with_periods.theta[i], expected.theta[i], 2e-5);
  }
}

// The record has the lane's estimate of each output that it saw, and nothing for the other outputs.
TEST(RecordedRewards, AreThoseOfTheOpenedBoxes) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 10, 60, 4);
  for (const LaneSpec& spec : test::all_lanes(replication, {0, 10})) {
    LaneRecord reference, fast;
    run_reference_lane(replication, spec, {}, &reference);
    run_on_cpu<double>(replication, std::span(&spec, 1), {{}, 32}, nullptr, std::span(&fast, 1));
    for (const LaneRecord& record : {reference, fast})
      for (std::size_t t = 0; t < record.outcomes.size(); ++t) {
        const PeriodOutcome& outcome = record.outcomes[t];
        for (int a = 0; a < 3; ++a) {
          const bool open =
              std::find(outcome.order, outcome.order + outcome.queried, a) != outcome.order + outcome.queried;
          const double seen = record.rewards[t * 3 + static_cast<std::size_t>(a)];
          const std::size_t at = replication.tape.at(replication.tape.online_row(static_cast<int>(t)), a);
          EXPECT_EQ(seen != 0.0, open);
          if (open && !spec.learns_reward()) {
            EXPECT_EQ(seen, replication.tape.mu[at]);
          }
        }
      }
  }
}

}  // namespace
}  // namespace pandora
