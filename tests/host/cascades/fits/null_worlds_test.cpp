// Fits promise no gain where there is none, of every kind. experiments/results/null-worlds has the same of 160 worlds a cell.
#include "tests/reference/null_worlds.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

using test::NullCell;
using test::NullCount;

// Within so many standard errors of what is promised.
void expect_kept(const NullCount& count, double errors) {
  const std::string row = test::csv_header() + test::csv_row(count);
  const double n = static_cast<double>(count.worlds);
  const auto margin = [&](double share) { return errors * std::sqrt(share * (1.0 - share) / n); };
  EXPECT_LE(static_cast<double>(count.sure) / n, 0.025 + margin(0.025)) << row;
  EXPECT_GE(static_cast<double>(count.gain_covered) / n, 0.95 - margin(0.95)) << row;
  EXPECT_GE(static_cast<double>(count.utility_covered) / n, 0.95 - margin(0.95)) << row;
  EXPECT_LE(std::abs(count.bias), errors * count.bias_error + 1e-12) << row;
}

void expect_kept_by_all(const std::string& kind) {
  NullCount all{kind};
  for (const NullCell& cell : test::null_cells(kind)) {
    const NullCount count = test::count_null_worlds(kind, cell, 40, 0);
    expect_kept(count, 4.0);
    all += count;
  }
  expect_kept(all, 3.0);
}

TEST(NullWorlds, RouterSlow) {
  expect_kept_by_all("router");
}
TEST(NullWorlds, RoutedSlow) {
  expect_kept_by_all("routed");
}
TEST(NullWorlds, IndicesSlow) {
  expect_kept_by_all("indices");
}
TEST(NullWorlds, ThresholdsSlow) {
  expect_kept_by_all("thresholds");
}
TEST(NullWorlds, AutoSlow) {
  expect_kept_by_all("auto");
}

// The smallest cell of the kind that promised its in-sample gain.
TEST(NullWorlds, ARouterOfNoisePromisesNoGain) {
  expect_kept(test::count_null_worlds("router", {2, 200}, 40, 2), 4.0);
}

}  // namespace
}  // namespace pandora
