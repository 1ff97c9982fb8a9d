// Numbers that tests/reference/python/field_metrics.py gives for the same points, answers and weights.
#include "host/cascades/fits/field_metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

constexpr double kNear = 1e-12;

const std::vector<CostQuality> kPoints = {{1.0, 0.2}, {2.0, 0.3}, {3.0, 0.8}, {4.0, 0.7},
                                          {5.0, 0.9}, {5.0, 0.1}, {7.5, 0.85}};
const std::vector<CostQuality> kModels = {{0.5, 0.15}, {2.5, 0.55}, {9.0, 0.95}};

TEST(FieldMetrics, HullDoesNotDecrease) {
  const std::vector<CostQuality> hull = non_decreasing_hull(kPoints);
  ASSERT_EQ(hull.size(), 3u);
  EXPECT_EQ(hull[1].usd, 3.0);
  EXPECT_EQ(hull[2].quality, 0.9);
  EXPECT_NEAR(average_improvement(kPoints, 9.0, false), 0.7875, kNear);
  EXPECT_NEAR(average_improvement(kPoints, 9.0, true), 0.7, kNear);
  EXPECT_NEAR(average_improvement({{2.0, 0.4}}, 2.0, false), 0.4, kNear);
  EXPECT_NEAR(cost_of_quality(kPoints, 0.8 * 0.95), 2.8666666666666667, kNear);
  EXPECT_TRUE(std::isnan(cost_of_quality(kPoints, 0.95)));
  EXPECT_EQ(cost_of_quality(kPoints, 0.1), 1.0);
}

TEST(FieldMetrics, SharesOfTheStrongModel) {
  const std::vector<StrongShare> points = {{0.0, 0.3},   {0.15, 0.42}, {0.4, 0.61},
                                           {0.35, 0.63}, {0.7, 0.74},  {1.0, 0.8}};
  EXPECT_NEAR(strong_share_area(points), 0.6234999999999999, kNear);
  EXPECT_NEAR(performance_gap_recovered(points, 0.3, 0.8), 0.647, kNear);
  EXPECT_NEAR(share_that_recovers(points, 0.3, 0.8, 0.5), 0.27380952380952384, kNear);
  EXPECT_NEAR(share_that_recovers(points, 0.3, 0.8, 0.8), 0.6076923076923075, kNear);
  EXPECT_TRUE(std::isnan(share_that_recovers(points, 0.3, 0.8, 1.1)));
  EXPECT_TRUE(std::isnan(performance_gap_recovered(points, 0.5, 0.5)));
}

TEST(FieldMetrics, DeferralArenaAndTheRest) {
  EXPECT_NEAR(deferral_area(kPoints, 9.0, 1.0), 0.5569444444444445, kNear);
  EXPECT_NEAR(deferral_area(kPoints, 9.0, 0.5), 0.47222222222222227, kNear);
  EXPECT_NEAR(least_cost_at(kPoints, 0.78) / 9.0, 1.0 / 3.0, kNear);
  EXPECT_TRUE(std::isnan(least_cost_at(kPoints, 0.91)));
  EXPECT_NEAR(arena_score({3.0, 0.7}), 0.6532323151472007, kNear);
  EXPECT_NEAR(arena_score({0.0044, 0.7}), 1.1 * 0.7 / 1.07, kNear);
  EXPECT_TRUE(std::isnan(arena_score({0.0, 0.7})));
  EXPECT_NEAR(greatest_quality(kPoints) / 0.8 - 1.0, 0.125, kNear);  // performance_gain
  EXPECT_NEAR(1.0 - least_cost_at(kPoints, 0.8) / 6.0, 0.5, kNear);  // cost_saved
  std::vector<CostQuality> everyone = kPoints;
  everyone.insert(everyone.end(), kModels.begin(), kModels.end());
  EXPECT_NEAR(pareto_distance(kPoints, everyone), 0.11466454580788368, kNear);
}

TEST(FieldMetrics, JudgesWithAndWithoutWeights) {
  const std::vector<double> score = {0.05, 0.9, 0.4, 0.4, 0.75, 0.75, 0.2, 1.0, 0.6, 0.4, 0.0, 0.33},
                            truth = {0.0, 1.0, 1.0, 0.25, 1.0, 0.0, 0.5, 1.0, 0.4, 0.0, 0.0, 0.7};
  const ForecastAnswers answers(score, truth, 2);
  const std::vector<std::uint32_t> once(6, 1), weights = {1, 0, 2, 1, 3, 1};
  EXPECT_NEAR(answers.calibration_error(once), 0.13083333333333333, kNear);
  EXPECT_NEAR(answers.area_under_roc(once), 0.6805555555555556, kNear);
  EXPECT_NEAR(answers.area_under_risk(once), 0.30964841871091875, kNear);
  EXPECT_NEAR(answers.risk_at(0.5, once), 0.36388888888888893, kNear);
  EXPECT_NEAR(answers.calibration_error(weights), 0.22625, kNear);
  EXPECT_NEAR(answers.area_under_roc(weights), 0.7, kNear);
  EXPECT_NEAR(answers.area_under_risk(weights), 0.3799959068709069, kNear);
  EXPECT_NEAR(answers.risk_at(0.5, weights), 0.4, kNear);
}

TEST(FieldMetrics, QuantilesAreBetweenOrderStatistics) {
  const std::vector<double> seconds = {1.5, 11.0, 6.25};
  EXPECT_NEAR(quantile_of(seconds, 0.5), 6.25, kNear);
  EXPECT_NEAR(quantile_of(seconds, 0.95), 10.525, kNear);
  EXPECT_TRUE(std::isnan(quantile_of({}, 0.5)));
}

}  // namespace
}  // namespace pandora
