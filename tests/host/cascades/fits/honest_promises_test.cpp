// Intervals of a test hold the truth as often as they say, and a fit promises no more than its cascade keeps.
#include <gtest/gtest.h>

#include <cmath>

#include "host/cascades/fits/judge_cascade.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using test::LawWorth;
using test::TraceLaw;

// Of a cascade on fresh tables, how often gain and saving hold their expectations.
void expect_coverage(const std::string& evaluator, double price) {
  constexpr int kTables = 400;
  const TraceLaw law(0.2);
  const CascadeFit fit = fit_cascade(test::drawn_table(law, 1000, 1), test::settings_at(price, evaluator));
  ASSERT_GT(fit.cascade->options().order.size(), 1u);
  const std::size_t large = 2;
  const LawWorth cascade = test::worth_under(law, *fit.cascade), alone = test::worth_alone(law, large, price);
  int gains = 0, savings = 0, qualities = 0;
  for (int t = 0; t < kTables; ++t) {
    const TraceTable table = test::drawn_table(law, 300, 5000 + static_cast<std::uint64_t>(t));
    const JudgedCascade judged = judge_cascade(*fit.cascade, "cascade.json", table, "large");
    const auto holds = [](const Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high ? 1 : 0;
    };
    gains += holds(judged.worth.gain, cascade.utility - alone.utility);
    savings += holds(judged.worth.saving, 1.0 - cascade.dollars / alone.dollars);
    qualities += holds(judged.worth.quality, cascade.quality);
  }
  const double three = 3.0 * std::sqrt(0.95 * 0.05 / kTables);
  EXPECT_NEAR(gains / static_cast<double>(kTables), 0.95, three);
  EXPECT_NEAR(savings / static_cast<double>(kTables), 0.95, three);
  EXPECT_NEAR(qualities / static_cast<double>(kTables), 0.95, three);
}

TEST(HonestPromises, GainAndSavingOfATestHoldTheTruth) {
  expect_coverage("quality", 10.0);
}

TEST(HonestPromises, GainAndSavingOfATestHoldTheTruthWithAJudge) {
  expect_coverage("score", 20.0);
}

struct Kept {
  double mean = 0.0, error = 0.0;  ///< of promise minus what is kept, and its standard error
  int alone = 0;                   ///< tables for which one model is deployed
};

Kept promise_minus_kept(const TraceLaw& law, const CascadeFitSettings& settings, int tables, std::size_t rows,
                        std::uint64_t first_seed = 100) {
  double sum = 0.0, squares = 0.0;
  Kept out;
  for (int t = 0; t < tables; ++t) {
    const CascadeFit fit =
        fit_cascade(test::drawn_table(law, rows, first_seed + static_cast<std::uint64_t>(t)), settings);
    const LawWorth kept = test::worth_under(law, *fit.cascade);
    const double more = fit.promise.utility.value - kept.utility;
    sum += more;
    squares += more * more;
    out.alone += fit.choice.kind == CascadeKind::single ? 1 : 0;
  }
  out.mean = sum / tables;
  out.error = std::sqrt((squares / tables - out.mean * out.mean) / (tables - 1));
  return out;
}

TEST(HonestPromises, NoMoreThanIsKept) {
  const Kept kept = promise_minus_kept(TraceLaw(0.4), test::settings_at(10.0), 60, 250);
  EXPECT_LT(std::abs(kept.mean), 2.0 * kept.error) << kept.mean << " +- " << kept.error;
  EXPECT_EQ(kept.alone, 0);
}

// Where a cascade hardly pays, so that what is deployed differs between tables: the choice has a price of its own.
TEST(HonestPromises, NoMoreThanIsKeptWhereTheChoiceIsClose) {
  const Kept kept = promise_minus_kept(TraceLaw(0.6), test::settings_at(10.0, "score"), 60, 250);
  EXPECT_LT(std::abs(kept.mean), 2.0 * kept.error) << kept.mean << " +- " << kept.error;
  EXPECT_GT(kept.alone, 0);
}

TEST(HonestPromises, NoMoreThanIsKeptOverManyTablesSlow) {
  for (const double noise : {0.2, 0.4, 0.6, 0.8}) {
    CascadeFitSettings settings = test::settings_at(10.0, "score");
    const Kept kept = promise_minus_kept(TraceLaw(noise), settings, 800, 300, static_cast<std::uint64_t>(1e6 * noise));
    EXPECT_LT(kept.mean, 3.0 * kept.error) << noise << ": " << kept.mean << " +- " << kept.error;
    EXPECT_GT(kept.mean, -0.005) << noise << ": " << kept.mean << " +- " << kept.error;
  }
}

TEST(HonestPromises, NoMoreThanIsKeptOfBothKindsSlow) {
  for (const char* evaluator : {"quality", "score"}) {
    CascadeFitSettings settings = test::settings_at(10.0, evaluator);
    settings.indices = true;
    const Kept kept = promise_minus_kept(TraceLaw(0.4), settings, 100, 250);
    EXPECT_LT(std::abs(kept.mean), 2.0 * kept.error) << evaluator << ": " << kept.mean << " +- " << kept.error;
  }
}

// A bound that is said to be kept with 95% confidence is kept by what is deployed.
TEST(HonestPromises, BoundsAreKeptWithTheConfidenceThatIsSaid) {
  const TraceLaw law(0.3);
  for (const CascadeAim& aim :
       {CascadeAim{CascadeAim::Kind::most_usd, 0.004}, CascadeAim{CascadeAim::Kind::least_quality, 0.75}}) {
    constexpr int kTables = 30;
    int broken = 0, met = 0;
    for (int t = 0; t < kTables; ++t) {
      CascadeFitSettings settings = test::settings_at(0.0);
      settings.aim = aim;
      const CascadeFit fit = fit_cascade(test::drawn_table(law, 300, 700 + static_cast<std::uint64_t>(t)), settings);
      if (!fit.choice.chosen().met) continue;
      ++met;
      const LawWorth kept = test::worth_under(law, *fit.cascade);
      broken += aim.kind == CascadeAim::Kind::most_usd ? kept.dollars > aim.value : kept.quality < aim.value;
    }
    EXPECT_GT(met, kTables * 3 / 4) << aim_text(aim);
    EXPECT_LE(broken, 0.05 * met + 3.0 * std::sqrt(0.05 * 0.95 * met)) << aim_text(aim);
  }
}

}  // namespace
}  // namespace pandora
