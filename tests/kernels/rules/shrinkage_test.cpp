#include "kernels/rules/shrinkage.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rules/index_loss.hpp"

namespace pandora {
namespace {

// For g parameters, about each of which the samples have the information h, tr C = g / (h + ridge).
TEST(CarriedTrace, IsExactWhereTheSamplesTellAsMuchOfEveryParameter) {
  for (const double ridge : {2.0, 300.0})
    EXPECT_DOUBLE_EQ(carried_trace(5 / (7.0 + ridge), 5, 40.0 - ridge), 5 / (7.0 + 40.0));
}

TEST(CarriedTrace, StaysWhereTheRidgeStays) {
  EXPECT_DOUBLE_EQ(carried_trace(0.3, 5, 0.0), 0.3);
  EXPECT_EQ(carried_trace(1e-18, 0, 0.0), 0.0);
  EXPECT_EQ(carried_trace(-1e-18, 0, 0.0), 0.0);  // without parameters, rounding can give such a trace
}

TEST(SlopeTraces, MeanAndDeviationsAreCarriedApart) {
  const SlopeTraces traces{.ridge_mean = 10.0, .ridge_own = 20.0, .mean = 4 / 11.0, .all = 4 / 11.0 + 8 / 25.0};
  JointState state{};
  state.ridge_mean = 30.0;
  state.ridge_own = 15.0;
  const SlopeSums sums = traces.carried(state, 3, 4);
  EXPECT_DOUBLE_EQ(sums.mean_trace, 4 / 31.0);
  EXPECT_DOUBLE_EQ(sums.trace, 4 / 31.0 + 8 / 20.0);
}

// Features may be nearly 0 at first. A ridge that is right for those is too small for the first Hessian with others.
TEST(JointState, RidgesAreAtLeastHalfOfAScaleThatHasGrown) {
  LaneSpec spec;
  spec.shrinkage = Shrinkage::two_level;
  spec.ridge_mean = 1000.0;
  JointState state{};
  state.start(spec, 2);
  state.squares = 2e-9;
  state.learn_scale(spec.shrinkage, 2, 3);
  EXPECT_DOUBLE_EQ(state.scale, 1e-9);
  EXPECT_DOUBLE_EQ(state.ridge_mean, 1e-6);
  EXPECT_DOUBLE_EQ(state.ridge_own, 1e-6);
  state.samples_at_solve = 3;
  state.ridge_own = 0.3;
  state.squares = 0.4;
  state.learn_scale(spec.shrinkage, 2, 6);
  EXPECT_DOUBLE_EQ(state.scale, 0.1);
  EXPECT_DOUBLE_EQ(state.ridge_mean, 0.05);
  EXPECT_DOUBLE_EQ(state.ridge_own, 0.3);
}

TEST(RefitPlan, AnInverseServesStepsWithinAStandardDeviationOrFarBelowTheLast) {
  const RefitPlan plan({}, 1000, 900, 303);
  EXPECT_TRUE(plan.inverse_serves(1.0, 0.5));
  EXPECT_FALSE(plan.inverse_serves(1.1, 4.0));
  EXPECT_TRUE(plan.inverse_serves(10.0, 41.0));
  EXPECT_FALSE(plan.inverse_serves(10.0, 39.0));
  EXPECT_FALSE(plan.inverse_serves(std::nan(""), 39.0));
}

TEST(StepIsTrusted, UpToAStandardDeviation) {
  EXPECT_TRUE(step_is_trusted(1.0));
  EXPECT_FALSE(step_is_trusted(1.01));
}

TEST(RefitPlan, EveryStepFormsItsHessianUpToThreeSamplesPerParameter) {
  EXPECT_TRUE(RefitPlan({}, 908, 900, 303).every_step);
  EXPECT_FALSE(RefitPlan({}, 909, 900, 303).every_step);
}

TEST(RefitPlan, IsWholeWhereMostSamplesAreNew) {
  LaneSpec spec;
  spec.joint_steps = 7;
  spec.joint_tolerance = 0.5;
  const RefitPlan online(spec, 1000, 500, 10), whole(spec, 1002, 500, 10);
  EXPECT_FALSE(online.whole);
  EXPECT_EQ(online.most_steps, 7);
  EXPECT_EQ(online.tolerance, 0.5);
  EXPECT_TRUE(online.learns(7, true));
  ASSERT_TRUE(whole.whole);
  EXPECT_EQ(whole.most_steps, 200);
  EXPECT_EQ(whole.tolerance, index_tolerance(1002, 1.0));
  EXPECT_TRUE(whole.learns(50, false));
  EXPECT_FALSE(whole.learns(51, false));  // with fixed ridges, the problem is convex
  EXPECT_FALSE(whole.learns(3, true));    // the minimum must belong to the kept ridges
  EXPECT_TRUE(whole.inverse_serves(0.01, 0.0));
  EXPECT_FALSE(whole.inverse_serves(0.02, 1.0));
  spec.joint_tolerance = 1e-9;
  EXPECT_EQ(RefitPlan(spec, 1002, 500, 10).tolerance, 1e-9);
}

}  // namespace
}  // namespace pandora
