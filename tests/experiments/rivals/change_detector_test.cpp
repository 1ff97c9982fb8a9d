// The two-sample test on a sliding window, on values whose law is known.
#include "experiments/rivals/change_detector.hpp"

#include <gtest/gtest.h>

#include "tests/reference/small_problem.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

// A draw that is like a moment of the index loss: it has an atom at the cost, and other values below.
double moment_like(test::Random& random, double atom) {
  const double u = random.uniform(0.0, 1.0);
  return u < atom ? 0.1 : 0.1 - 0.3 * (u - atom);
}

TEST(ChangeDetector, MeasuresTheDistanceOfTwoDistributionFunctions) {
  test::Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> one, two;
    for (int k = 0; k < 1 + trial % 9; ++k) one.push_back(random.below(6));  // many ties
    for (int k = 0; k < 1 + trial % 13; ++k) two.push_back(random.below(6) + trial % 2);
    double wanted = 0.0;
    for (int x = 0; x < 8; ++x) {
      const auto share = [x](const std::vector<double>& sample) {
        return static_cast<double>(std::count_if(sample.begin(), sample.end(), [x](double v) { return v <= x; })) /
               static_cast<double>(sample.size());
      };
      wanted = std::max(wanted, std::abs(share(one) - share(two)));
    }
    EXPECT_DOUBLE_EQ(rivals::kolmogorov_smirnov_distance(one, two), wanted);
  }
}

// Three windows of 40 values make one test, which compares the third window with the second.
TEST(ChangeDetector, OneTestHasAtMostItsLevel) {
  test::Random random(4);
  constexpr int kTrials = 4000;
  constexpr double kLevel = 0.1;
  int alarms = 0, alarms_with_atom = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    rivals::ChangeDetector smooth(40, kLevel), tied(40, kLevel);
    for (int k = 0; k < 120; ++k) {
      alarms += smooth.add(random.uniform(0.0, 1.0));
      alarms_with_atom += tied.add(moment_like(random, 0.6));
    }
  }
  EXPECT_LT(statistics::in_standard_errors(alarms, kTrials, kLevel), statistics::kAlarm);
  EXPECT_GT(statistics::in_standard_errors(alarms, kTrials, 0.5 * kLevel), -statistics::kAlarm);  // not far below
  EXPECT_LT(statistics::in_standard_errors(alarms_with_atom, kTrials, kLevel), statistics::kAlarm);
}

// If the tests share the level, the probability of any alarm in 1,000 values is at most 5%.
TEST(ChangeDetector, RarelyAlarmsWithinAHorizonWithoutChange) {
  test::Random random(5);
  constexpr int kTrials = 600, kValues = 1000, kWindow = 50;
  const double level = 0.05 / rivals::ChangeDetector::tests(kValues, kWindow);
  int alarms = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    rivals::ChangeDetector detector(kWindow, level);
    bool alarm = false;
    for (int k = 0; k < kValues; ++k) alarm = detector.add(moment_like(random, 0.6)) || alarm;
    alarms += alarm;
  }
  EXPECT_LT(statistics::in_standard_errors(alarms, kTrials, 0.05), statistics::kAlarm);
}

// An atom that grows from 0.3 to 0.8 moves the distribution function by a half. This is found within 100 values.
TEST(ChangeDetector, FindsAChangeAndForgetsWhatWasBeforeIt) {
  test::Random random(6);
  for (int trial = 0; trial < 50; ++trial) {
    rivals::ChangeDetector detector(100, 1e-4);
    for (int k = 0; k < 700; ++k) EXPECT_FALSE(detector.add(moment_like(random, 0.3)));
    int after = 0;
    while (after < 300 && !detector.add(moment_like(random, 0.8))) ++after;
    EXPECT_LT(after, 100);
    detector.reset();
    for (int k = 0; k < 700; ++k) EXPECT_FALSE(detector.add(moment_like(random, 0.8)));
  }
}

}  // namespace
}  // namespace pandora
