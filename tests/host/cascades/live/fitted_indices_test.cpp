// Estimators of folds set out from those of the whole table.
#include "host/cascades/live/fitted_indices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace pandora {
namespace {

TEST(WeitzmanEstimator, StartsAtWhatAnotherOfItsShapeHasSolved) {
  const LaneSpec rules = shrunk_rules(true, 0.0, 3);
  const auto of = [&](int reward_features) {
    return WeitzmanEstimator(EstimatorShape{2, 2, reward_features}, rules, {});
  };
  WeitzmanEstimator near = of(4), same = of(4), other = of(6);
  for (int period = 1; period <= 3; ++period)
    for (int box = 0; box < 2; ++box)
      near.calibrate({period, std::array{1.0f, 0.5f * static_cast<float>(period)}, {}},
                     {box, std::array{1.0f, 0.3f, 0.0f, -0.2f}, 0.1, 0.0}, period == 1 ? 0.0 : 1.0);
  near.begin({4, std::array{1.0f, 0.0f}, {}});
  same.start_at(near);
  other.start_at(near);
  EXPECT_NE(near.theta()[0], 0.0);
  EXPECT_NE(near.rho(1)[1], 0.0);
  EXPECT_TRUE(std::ranges::equal(same.theta(), near.theta()));
  EXPECT_TRUE(std::ranges::equal(same.rho(1), near.rho(1)));
  EXPECT_EQ(other.theta()[0], 0.0);
  EXPECT_EQ(other.rho(1)[1], 0.0);
}

}  // namespace
}  // namespace pandora
