// Intervals of what a cascade is worth.
#include "host/cascades/fits/worth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

PromptGroups separate_prompts(std::size_t rows) {
  PromptGroups groups;
  for (std::size_t row = 0; row < rows; ++row) groups.of_row.push_back(row);
  groups.count = rows;
  return groups;
}

// The error of a ratio, by leaving out one prompt after the other.
TEST(CascadeWorth, SavingHasTheIntervalOfARatio) {
  test::Random random(3);
  constexpr std::size_t kRows = 400;
  std::vector<double> dollars, alone;
  double sum = 0.0, sum_alone = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const double size = random.uniform(0.5, 1.5);
    dollars.push_back(size * random.uniform(0.0, 0.4));
    alone.push_back(size);
    sum += dollars.back();
    sum_alone += alone.back();
  }
  double squares = 0.0, mean = 0.0;
  std::vector<double> left_out;
  for (std::size_t row = 0; row < kRows; ++row) {
    left_out.push_back(1.0 - (sum - dollars[row]) / (sum_alone - alone[row]));
    mean += left_out.back() / kRows;
  }
  for (const double x : left_out) squares += (x - mean) * (x - mean);
  const double error = std::sqrt(squares * (kRows - 1.0) / kRows);
  const PromptGroups groups = separate_prompts(kRows);
  const Interval saving = saving_over_prompts(dollars, alone, groups);
  EXPECT_NEAR(saving.value, 1.0 - sum / sum_alone, 1e-12);
  EXPECT_NEAR(standard_error(saving, groups) / error, 1.0, 0.01);
  EXPECT_NEAR(saving.high - saving.value, saving.value - saving.low, 1e-12);
  const Interval none = saving_over_prompts(dollars, std::vector<double>(kRows, 0.0), groups);
  EXPECT_TRUE(std::isnan(none.value) && std::isnan(none.low) && std::isnan(none.high));
}

TEST(CascadeWorth, BoundsOfOneSideAreThoseOfStudentsT) {
  const PromptGroups groups = separate_prompts(11);  // t with 10 degrees of freedom: 1.8125 and 2.2281
  const Interval interval{5.0, 5.0 - 2.2281, 5.0 + 2.2281};
  EXPECT_NEAR(standard_error(interval, groups), 1.0, 1e-4);
  std::vector<double> by_row;
  for (int row = 0; row < 11; ++row) by_row.push_back(row);
  EXPECT_NEAR(confident_bound(interval, by_row, groups, true), 6.8125, 1e-4);
  EXPECT_NEAR(confident_bound(interval, by_row, groups, false), 3.1875, 1e-4);
  // A long tail upwards moves both of them up.
  by_row.back() = 40.0;
  EXPECT_GT(confident_bound(interval, by_row, groups, true), 7.3);
  EXPECT_GT(confident_bound(interval, by_row, groups, false), 3.3);
}

TEST(CascadeWorth, ATailOfDollarsIsToldByItsDearestPrompts) {
  std::vector<double> dollars(300, 1.0);
  for (int row = 0; row < 300; ++row) dollars[static_cast<std::size_t>(row)] += row % 2;
  const PromptGroups groups = separate_prompts(300);
  EXPECT_FALSE(dollar_tail(dollars, groups).heavy());
  dollars[7] = dollars[90] = dollars[200] = 100.0;
  const DollarTail tail = dollar_tail(dollars, groups);
  EXPECT_TRUE(tail.heavy());
  EXPECT_EQ(tail.dearest, 3u);
  EXPECT_NEAR(tail.share, 300.0 / (446.0 + 300.0), 0.005);
  EXPECT_THAT(tail_text(tail),
              testing::StartsWith("the dearest 3 of 300 prompts carry 40% of the dollars; a skewness of "));
  // The rows of one prompt are one observation.
  PromptGroups one = groups;
  one.of_row.assign(300, 0);
  for (std::size_t row = 0; row < 300; ++row) one.of_row[row] = row % 10;
  one.count = 10;
  EXPECT_EQ(dollar_tail(dollars, one).prompts, 10u);
  EXPECT_FALSE(dollar_tail(std::vector<double>(300, 0.5), groups).heavy());
}

TEST(CascadeWorth, OfRowsByHand) {
  const Routed routed{{1.0, 0.5, 0.0}, {0.01, 0.02, 0.03}, {1, 2, 2}},
      alone{{0.5, 0.5, 0.5}, {0.1, 0.1, 0.1}, {1, 1, 1}};
  const PromptGroups groups = separate_prompts(3);
  const CascadeWorth worth = worth_of(routed, alone, 10.0, groups, 0);
  EXPECT_DOUBLE_EQ(worth.quality.value, 0.5);
  EXPECT_DOUBLE_EQ(worth.usd_per_1000.value, 20.0);
  EXPECT_NEAR(worth.calls.value, 5.0 / 3.0, 1e-12);
  EXPECT_NEAR(worth.utility.value, 0.3, 1e-12);
  EXPECT_NEAR(worth.gain.value, 0.3 - (0.5 - 1.0), 1e-12);
  EXPECT_NEAR(worth.saving.value, 0.8, 1e-12);
  const CascadeWorth fitted = worth_of(routed, alone, 10.0, groups, 5);
  EXPECT_NEAR(fitted.gain.high - fitted.gain.value, 1.5 * (worth.gain.high - worth.gain.value), 1e-12);
  const Interval read = interval_of(json_of(worth.gain));
  EXPECT_EQ(read.low, worth.gain.low);
  EXPECT_EQ(read.high, worth.gain.high);
}

TEST(CascadeWorth, RowsThatAreTakenOutKeepTheirPrompts) {
  const PromptGroups groups{{2, 0, 2, 1, 0}, 3};
  const std::vector<std::size_t> rows = {0, 2, 4};
  const PromptGroups taken = groups_of(groups, rows);
  EXPECT_EQ(taken.count, 2u);
  EXPECT_THAT(taken.of_row, testing::ElementsAre(0, 0, 1));
  const Routed all{{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}, {1, 2, 3, 4, 5}};
  const Routed some = routed_of(all, rows);
  EXPECT_THAT(some.quality, testing::ElementsAre(1, 3, 5));
  Routed back = empty_rows(5);
  put_rows(back, some, rows);
  EXPECT_THAT(back.dollars, testing::ElementsAre(10, 0, 30, 0, 50));
  EXPECT_THAT(back.calls, testing::ElementsAre(1, 0, 3, 0, 5));
}

TEST(CascadeWorth, InWords) {
  EXPECT_EQ(interval_text({0.5, 0.25, 0.75}, 2), "0.50 [0.25, 0.75]");
  EXPECT_EQ(interval_text({NAN, NAN, NAN}, 2), "---");
  EXPECT_EQ(interval_text({0.5, NAN, NAN}, 2), "0.50");
  EXPECT_EQ(usd_text({0.00085, NAN, NAN}), "0.000850");
  EXPECT_EQ(usd_text({15.237, 15.1, 15.4}), "15.24 [15.10, 15.40]");
  EXPECT_EQ(share_text({0.944, 0.939, 0.948}), "94.4% [93.9%, 94.8%]");
}

}  // namespace
}  // namespace pandora
