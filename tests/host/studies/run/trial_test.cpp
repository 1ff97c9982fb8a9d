// The arithmetic of a plan's time: horizons, threads, counts. Measurements are made up, and no test reads a clock.
#include "host/studies/run/trial.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace pandora {
namespace {

std::vector<TrialPoint> points(const std::vector<double>& horizons, double fixed, double rate, double power) {
  std::vector<TrialPoint> out;
  for (const double T : horizons) out.push_back({T, fixed + rate * std::pow(T, power)});
  return out;
}

TEST(Extrapolated, FollowsThePowerThatThreePointsTell) {
  for (const double power : {0.8, 1.0, 1.5, 2.0, 2.5})
    EXPECT_NEAR(
        extrapolated(points({1, 250, 1000, 4000}, 0.3, 1e-4, power), 100000) / (0.3 + 1e-4 * std::pow(100000.0, power)),
        1.0, 0.02)
        << power;
}

TEST(Extrapolated, IsALineThroughTwoPointsAndProportionalToOne) {
  EXPECT_NEAR(extrapolated(points({1, 250}, 0.3, 1e-3, 1.0), 3000), 3.3, 1e-9);
  EXPECT_EQ(extrapolated(points({500}, 0.0, 1e-3, 1.0), 2000), 2.0);
}

TEST(Extrapolated, IsWhatWasMeasuredWhereNothingIsLeft) {
  EXPECT_EQ(extrapolated(points({1, 40}, 0.3, 1e-3, 1.0), 40), 0.3 + 0.04);
  EXPECT_EQ(extrapolated(points({1}, 0.3, 1e-3, 1.0), 1), 0.301);
}

// A coarse or disturbed clock may show no growth, or a negative one. Then no time is added.
TEST(Extrapolated, NeverFalls) {
  EXPECT_EQ(extrapolated(std::vector<TrialPoint>{{1, 0.5}, {250, 0.4}}, 30000), 0.4);
  EXPECT_EQ(extrapolated(std::vector<TrialPoint>{{1, 0.1}, {250, 0.5}, {1000, 0.4}}, 30000), 0.4);
  EXPECT_NEAR(extrapolated(std::vector<TrialPoint>{{1, 0.4}, {250, 0.4}, {1000, 0.475}}, 2000), 0.575, 1e-9);  // linear
}

constexpr UnitTime kUnit = {.preparing = 1.0, .playing = 6.0, .chunks = 3};

TEST(WallSeconds, SharesUnitsAndChunksOverThreads) {
  EXPECT_EQ(wall_seconds(kUnit, 10, 1, 1.0), 70.0);
  EXPECT_EQ(wall_seconds(kUnit, 10, 2, 2.0), 35.0);
  EXPECT_EQ(wall_seconds(kUnit, 1, 2, 2.0), 1.0 + 2 * 2.0);  // two rounds of chunks, after one thread has prepared
  EXPECT_EQ(wall_seconds(kUnit, 1, 8, 8.0), 1.0 + 2.0);
  EXPECT_EQ(wall_seconds(kUnit, 0, 2, 2.0), 0.0);
}

TEST(WallSeconds, GivesNoMoreThanTheCores) {
  EXPECT_EQ(wall_seconds(kUnit, 8, 4, 2.0), 8 * 7.0 / 2);  // four threads on two cores
  EXPECT_EQ(wall_seconds(kUnit, 8, 2, 1.0), 8 * 7.0);      // two threads with a quota of one core
  EXPECT_NEAR(wall_seconds(kUnit, 8, 2, 1.5), 8 * 7.0 / 1.5, 1e-9);
  EXPECT_EQ(wall_seconds(kUnit, 1, 4, 2.0), 1.0 + 3 * 2.0 / 2);  // one thread prepares, and three play
}

}  // namespace
}  // namespace pandora
