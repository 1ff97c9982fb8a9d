// Ranges and ticks that a reader can read.
#include "host/ground/figures/axis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace pandora {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks)
    if (!tick.label.empty()) out.push_back(tick.label);
  return out;
}
using Labels = std::vector<std::string>;

TEST(TickLabel, IsShortAndWithoutTheEOfPrograms) {
  EXPECT_EQ(tick_label(0), "0");
  EXPECT_EQ(tick_label(0.1 + 0.2), "0.3");
  EXPECT_EQ(tick_label(-0.05), "−0.05");
  EXPECT_EQ(tick_label(500), "500");
  EXPECT_EQ(tick_label(5000), "5,000");
  EXPECT_EQ(tick_label(30000), "30,000");
  EXPECT_EQ(tick_label(1234.5), "1,234.5");
  EXPECT_EQ(tick_label(1e6), "10^{6}");
  EXPECT_EQ(tick_label(2.5e7), "2.5×10^{7}");
  EXPECT_EQ(tick_label(-1e-5), "−10^{-5}");
  EXPECT_EQ(tick_label(3e-6), "3×10^{-6}");
}

TEST(Axis, OfCurvesEndsWithThem) {
  const Axis axis = make_axis({.values = {1, 30000}, .tight = true}, 6);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 30000);
  EXPECT_EQ(labels(axis), (Labels{"0", "10,000", "20,000", "30,000"}));
}

TEST(Axis, ShowsValuesAndEndsOfIntervalsWithAMargin) {
  const Axis axis = make_axis({.values = {50, 60, NAN}, .ends = {45, 65, INFINITY}}, 5);
  EXPECT_LT(axis.low, 45);
  EXPECT_GT(axis.low, 40);
  EXPECT_GT(axis.high, 65);
  EXPECT_LT(axis.high, 70);
  for (const Tick& tick : axis.ticks) {
    EXPECT_GE(tick.at, axis.low);
    EXPECT_LE(tick.at, axis.high);
  }
}

TEST(Axis, OfOneValueOrNoneHasALength) {
  for (const std::vector<double>& values : {std::vector<double>{}, {5}, {0}, {-3}, {NAN}, {1e-9}})
    for (const bool log : {false, true}) {
      const Axis axis = make_axis({.values = values, .log = log}, 5);
      EXPECT_LT(axis.low, axis.high);
      EXPECT_TRUE(!log || axis.low > 0);
      EXPECT_GE(labels(axis).size(), 2u);
    }
}

TEST(LogAxis, HasPowersOfTenOverManyDecades) {
  const Axis axis = make_axis({.values = {10, 1e5}, .log = true, .tight = true}, 6);
  EXPECT_EQ(labels(axis), (Labels{"10^{1}", "10^{2}", "10^{3}", "10^{4}", "10^{5}"}));
}

TEST(LogAxis, LeavesOutNumbersWhereThereIsNoRoom) {
  const Axis axis = make_axis({.values = {1e-6, 1e6}, .log = true}, 5);
  EXPECT_LE(labels(axis).size(), 5u);
  EXPECT_GE(labels(axis).size(), 2u);
}

TEST(LogAxis, HasOneTwoFiveOverFewDecades) {
  const Axis axis = make_axis({.values = {0.9, 60}, .log = true, .tight = true}, 6);
  EXPECT_EQ(labels(axis), (Labels{"1", "2", "5", "10", "20", "50"}));
}

TEST(LogAxis, HasTicksOfALinearOneWithinADecade) {
  const Axis axis = make_axis({.values = {6, 9}, .log = true, .tight = true}, 6);
  EXPECT_EQ(labels(axis), (Labels{"6", "7", "8", "9"}));
}

TEST(LogAxis, DoesNotSeeWhatIsNotPositiveNorIntervalsThatNearlyReachZero) {
  const Axis axis = make_axis({.values = {-4, 0, 1, 100}, .ends = {-1, 1e-12, 120}, .log = true, .tight = true}, 6);
  EXPECT_NEAR(axis.low, 0.1, 0.001);
  EXPECT_NEAR(axis.high, 120, 0.1);
  EXPECT_FALSE(axis.zero);
}

TEST(LogAxis, HasAPlaceForZeroAtTheLeft) {
  const Axis axis = make_axis({.values = {0, 0.01, 0.03, 1}, .log = true, .tight = true, .place_zero = true}, 6);
  ASSERT_TRUE(axis.zero);
  EXPECT_NEAR(*axis.zero, 0.01 / 3, 1e-12);
  EXPECT_LT(axis.low, *axis.zero);
  EXPECT_EQ(axis.ticks[0].label, "0");
  EXPECT_EQ(axis.ticks[0].at, *axis.zero);
  EXPECT_GE(axis.ticks[1].at, 0.01 * (1 - 1e-9));  // no mark of the logarithmic part between the two
}

TEST(PlaceOfZero, StandsAsFarLeftAsTheNextValueIsRightWithinBounds) {
  EXPECT_DOUBLE_EQ(place_of_zero({0, 4, 1}), 0.25);
  EXPECT_DOUBLE_EQ(place_of_zero({0, 1, 1.1}), 0.5);
  EXPECT_DOUBLE_EQ(place_of_zero({0, 1, 1e6}), 0.1);
  EXPECT_DOUBLE_EQ(place_of_zero({0, 1}), 0.1);
  EXPECT_THROW(place_of_zero({0, -1}), std::logic_error);
}

}  // namespace
}  // namespace pandora
