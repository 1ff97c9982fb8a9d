#include "kernels/rules/shrinkage.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

// g parameters of which the samples tell h each: tr C = g / (h + ridge).
TEST(CarriedTrace, IsExactWhereTheSamplesTellAsMuchOfEveryParameter) {
  for (const double ridge : {2.0, 300.0})
    EXPECT_DOUBLE_EQ(carried_trace(5 / (7.0 + ridge), 5, 40.0 - ridge), 5 / (7.0 + 40.0));
}

TEST(CarriedTrace, StaysWhereTheRidgeStays) {
  EXPECT_DOUBLE_EQ(carried_trace(0.3, 5, 0.0), 0.3);
  EXPECT_EQ(carried_trace(1e-18, 0, 0.0), 0.0);
  EXPECT_EQ(carried_trace(-1e-18, 0, 0.0), 0.0);  // of rounding, where there are no parameters
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

TEST(InverseServes, StepsWithinAStandardDeviationOrFarBelowTheLast) {
  EXPECT_TRUE(inverse_serves(1.0, 0.5));
  EXPECT_FALSE(inverse_serves(1.1, 4.0));
  EXPECT_TRUE(inverse_serves(10.0, 41.0));
  EXPECT_FALSE(inverse_serves(10.0, 39.0));
  EXPECT_FALSE(inverse_serves(std::nan(""), 39.0));
}

TEST(StepIsTrusted, UpToAStandardDeviation) {
  EXPECT_TRUE(step_is_trusted(1.0));
  EXPECT_FALSE(step_is_trusted(1.01));
}

TEST(HessianMoves, UpToThreeSamplesPerParameter) {
  EXPECT_TRUE(hessian_moves(908, 900, 303));
  EXPECT_FALSE(hessian_moves(909, 900, 303));
  EXPECT_FALSE(hessian_moves(1000, 500, 10));
  EXPECT_TRUE(hessian_moves(1002, 500, 10));
}

}  // namespace
}  // namespace pandora
