// Means on a table of outcomes, with intervals over prompts.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "host/studies/results/summary.hpp"

namespace pandora {
namespace {

// A lane that ran to its end.
LaneTally ran(int periods) {
  LaneTally tally;
  tally.start(periods);
  tally.periods = periods;
  return tally;
}

std::uint32_t outcome(std::initializer_list<int> opened, int deployed) {
  PeriodOutcome out;
  for (const int box : opened) out.order[out.queried++] = box;
  out.deployed = deployed;
  return packed(out);
}

TEST(PromptStatistics, AreThoseByHand) {
  const auto table = std::make_shared<const PromptOutcomes>(
      PromptOutcomes{2, 2, {0.5f, 0.75f, 1.0f, 0.25f}, {0.001f, 0.002f, 0.001f, 0.002f}, {0, 1}});
  UnitResult unit;
  unit.resize(2);
  unit.lanes = {ran(2), ran(2)};
  unit.table = table;
  unit.prompts = {1, 0};
  unit.notes[0].outcomes = {outcome({0}, 0), outcome({1}, 1)};     // the benchmark: 1 - 0.01, 0.75 - 0.02
  unit.notes[1].outcomes = {outcome({1, 0}, 0), outcome({0}, 0)};  // 1 - 0.03, 0.5 - 0.01
  const PromptStatistics found = prompt_statistics(std::vector{unit}, 1, 10.0);
  EXPECT_NEAR(found.quality.mean, 0.75, 1e-7);
  EXPECT_NEAR(found.cost_usd_per_1000.mean, 2.0, 1e-6);
  EXPECT_NEAR(found.calls.mean, 1.5, 1e-12);
  EXPECT_NEAR(found.utility.mean, 0.73, 1e-7);
  EXPECT_NEAR(found.gap.mean, (0.02 + 0.24) / 2.0, 1e-7);
  // With two prompts, the standard error is half of their difference, with one degree of freedom.
  EXPECT_NEAR(found.utility.half_width_95, 12.706204736 * 0.24, 1e-5);
  EXPECT_NEAR(found.gap.half_width_95, 12.706204736 * 0.11, 1e-5);
  EXPECT_NEAR(prompt_statistics(std::vector{unit, unit, unit}, 1, 10.0).utility.half_width_95,
              found.utility.half_width_95, 1e-11)
      << "orders of the same prompts are averaged out";
}

TEST(PromptStatistics, LeaveFailedLanesOut) {
  UnitResult unit;
  unit.resize(2);
  unit.lanes = {ran(1), ran(1)};
  unit.lanes[1].fail(Failure::not_finite, 1);
  unit.table = std::make_shared<const PromptOutcomes>(PromptOutcomes{1, 1, {0.5f}, {0.1f}, {0}});
  unit.prompts = {0};
  unit.notes[0].outcomes = unit.notes[1].outcomes = {outcome({0}, 0)};
  EXPECT_TRUE(std::isnan(prompt_statistics(std::vector{unit}, 1, 1.0).utility.mean));
}

// There are 400 tables from one law. In each of three orders, the policy chooses partly at random. Each prompt has so many
// answers, which are rows. The interval holds the law's mean for 95% of the tables.
class Intervals : public testing::TestWithParam<int> {};

TEST_P(Intervals, CoverTheMeanOfTheLaw) {
  constexpr int kTables = 400, kPrompts = 150, kOrders = 3;
  const int answers = GetParam(), rows = kPrompts * answers;
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  // A prompt has a number u. Model 0 has the quality u, and model 1 has (1 + u) / 2 and costs 0.2. The policy opens
  // both with probability 1/2, otherwise model 0. At price 1 the utilities are u - 0.1 and (1 + u) / 2 - 0.3.
  const double mean = 0.5 * (0.5 - 0.1) + 0.5 * (0.75 - 0.3);
  int covered = 0;
  for (int k = 0; k < kTables; ++k) {
    PromptOutcomes table{static_cast<std::size_t>(rows), 2, {}, {}, {}};
    for (int p = 0; p < kPrompts; ++p) {
      const double u = uniform(random);
      for (int answer = 0; answer < answers; ++answer) {
        table.quality.insert(table.quality.end(), {static_cast<float>(u), static_cast<float>((1.0 + u) / 2.0)});
        table.dollars.insert(table.dollars.end(), {0.1f, 0.2f});
        table.prompt.push_back(static_cast<std::uint32_t>(p));
      }
    }
    const auto shared = std::make_shared<const PromptOutcomes>(table);
    std::vector<UnitResult> units(kOrders);
    for (UnitResult& unit : units) {
      unit.resize(1);
      unit.lanes = {ran(rows)};
      unit.table = shared;
      unit.prompts.resize(shared->rows);
      std::iota(unit.prompts.begin(), unit.prompts.end(), 0u);
      std::shuffle(unit.prompts.begin(), unit.prompts.end(), random);
      for (int t = 0; t < rows; ++t)
        unit.notes[0].outcomes.push_back(uniform(random) < 0.5 ? outcome({0, 1}, 1) : outcome({0}, 0));
    }
    const Estimate found = prompt_statistics(units, 0, 1.0).utility;
    covered += std::abs(found.mean - mean) <= found.half_width_95 ? 1 : 0;
  }
  EXPECT_NEAR(covered, 0.95 * kTables, 3.0 * std::sqrt(0.95 * 0.05 * kTables));
}

INSTANTIATE_TEST_SUITE_P(OneAnswerAndSeveral, Intervals, testing::Values(1, 4));

}  // namespace
}  // namespace pandora
