// Intervals against a law that is known, and what is concluded of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/cascades/fits/trace_check.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "pandora/error.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

using test::TraceLaw;
using testing::HasSubstr;

constexpr double kPrice = 10.0;

// How often an interval holds the expectation, and how far the values are from it.
struct Coverage {
  int tables = 0, covered = 0;
  double sum = 0.0, squares = 0.0;

  void add(const Interval& interval, double expected) {
    ++tables;
    covered += interval.low <= expected && expected <= interval.high ? 1 : 0;
    sum += interval.value - expected;
    squares += (interval.value - expected) * (interval.value - expected);
  }
  double share() const { return static_cast<double>(covered) / tables; }
  static double three_errors(int tables) { return 3.0 * std::sqrt(0.95 * 0.05 / tables); }
  // Of the mean of value - expectation, in its standard errors.
  double bias() const {
    const double mean = sum / tables;
    return mean / std::sqrt((squares / tables - mean * mean) / tables);
  }
};

struct Coverages {
  Coverage single, cascade, index, bound, cascade_gain, index_gain, bound_gain;
};

// What the fold's policies are worth under the law, weighted by the folds' rows.
struct Expected {
  double single = 0.0, cascade = 0.0, index = 0.0;
};

Expected expected_of(const Headroom& headroom, const TraceTable& table, const TraceLaw& law,
                     const std::string& evaluator) {
  const PromptGroups groups = group_prompts(table);
  const std::size_t folds = headroom.fold_fits.size();
  Expected out;
  for (std::size_t f = 0; f < folds; ++f) {
    const Fold fold = fold_of(groups, f, folds);
    const std::vector<IsotonicMap> maps = CalibratedEvaluator(table, evaluator).calibrate(fold.training);
    const FittedPolicies& fitted = headroom.fold_fits[f];
    const double share = static_cast<double>(fold.held_out.size()) / static_cast<double>(table.rows());
    out.single += share * law.expected_utility(FixedCascade{{fitted.single}, {}}, maps, kPrice);
    out.cascade += share * law.expected_utility(fitted.cascade, maps, kPrice);
    out.index += share * law.expected_utility(fitted.index, maps, kPrice);
  }
  return out;
}

Coverages measure_coverage(const std::string& evaluator, int tables, std::size_t rows) {
  const TraceLaw law(0.4);
  const Outcomes atoms{TraceLaw::kModels, law.atoms().quality, law.atoms().quality, law.atoms().cost};
  const double bound = law.expected(best_answers(atoms, kPrice, all_rows(atoms.rows())).utility(kPrice));
  Coverages out;
  for (int t = 0; t < tables; ++t) {
    test::Random random(1000 + static_cast<std::uint64_t>(t));
    const TraceTable table = law.draw(rows, random);
    const Headroom headroom = measure_headroom(table, evaluator, {kPrice})[0];
    const Expected expected = expected_of(headroom, table, law, evaluator);
    out.single.add(headroom.best_single.utility, expected.single);
    out.cascade.add(headroom.fixed_cascade.utility, expected.cascade);
    out.index.add(headroom.index_policy.utility, expected.index);
    out.bound.add(headroom.bound.utility, bound);
    out.cascade_gain.add(headroom.fixed_cascade.gain, expected.cascade - expected.single);
    out.index_gain.add(headroom.index_policy.gain, expected.index - expected.single);
    out.bound_gain.add(headroom.bound.gain, bound - expected.single);
  }
  return out;
}

void expect_honest(const std::string& evaluator) {
  constexpr int kTables = 400;
  const Coverages c = measure_coverage(evaluator, kTables, 300);
  const double three = Coverage::three_errors(kTables);
  for (const auto& [name, coverage] :
       {std::pair{"single", c.single}, {"cascade", c.cascade}, {"index", c.index}, {"bound", c.bound}}) {
    EXPECT_NEAR(coverage.share(), 0.95, three) << name;
    EXPECT_LT(std::abs(coverage.bias()), 3.0) << name;
  }
  // Made wider for what another table would have been fitted to, which this law does not need.
  for (const auto& [name, coverage] :
       {std::pair{"cascade", c.cascade_gain}, {"index", c.index_gain}, {"bound", c.bound_gain}}) {
    EXPECT_GE(coverage.share(), 0.95 - three) << "gain of the " << name;
    EXPECT_LT(std::abs(coverage.bias()), 3.0) << "gain of the " << name;
  }
}

TEST(Headroom, IntervalsHoldTheExpectationWhereTheTruthIsSeen) {
  expect_honest("quality");
}

TEST(Headroom, IntervalsHoldTheExpectationWhereAJudgesScoreIsSeen) {
  expect_honest("score");
}

TEST(Headroom, IntervalsOfGainsAreWiderForTheFit) {
  const Interval wider = cross_fitted({2.0, 1.0, 3.0}, 5);
  EXPECT_DOUBLE_EQ(wider.value, 2.0);
  EXPECT_DOUBLE_EQ(wider.low, 0.5);
  EXPECT_DOUBLE_EQ(wider.high, 3.5);
}

// Whatever is fitted stands between the best single model and the bound, each in the right units.
TEST(Headroom, PoliciesAreWhatTheirPartsSay) {
  const TraceLaw law(0.4);
  test::Random random(5);
  const TraceTable table = law.draw(500, random);
  const std::vector<Headroom> headrooms = measure_headroom(table, "quality", {0.0, kPrice});
  ASSERT_EQ(headrooms.size(), 2u);
  for (const Headroom& h : headrooms) {
    for (const CascadeWorth* worth : {&h.best_single, &h.fixed_cascade, &h.index_policy, &h.bound}) {
      EXPECT_NEAR(worth->utility.value, worth->quality.value - h.price * worth->usd_per_1000.value / 1000.0, 1e-12);
      EXPECT_NEAR(worth->gain.value, worth->utility.value - h.best_single.utility.value, 1e-12);
      EXPECT_LE(worth->utility.value, h.bound.utility.value + 1e-12);
      EXPECT_GE(worth->calls.value, 1.0);
      EXPECT_LE(worth->calls.value, 3.0);
    }
    EXPECT_EQ(h.best_single.gain.low, 0.0);
    EXPECT_EQ(h.by_cascade, h.fixed_cascade.utility.value > h.index_policy.utility.value);
    EXPECT_GE(h.single_in_hindsight.value, h.best_single.utility.value - 1e-12);
    EXPECT_EQ(h.fold_fits.size(), 5u);
  }
  EXPECT_NEAR(headrooms[0].fixed_cascade.quality.value, headrooms[0].bound.quality.value, 0.01);  // all is free
}

TEST(Headroom, RoutingPaysWhereTheTruthIsSeenAndNotWhereNothingIs) {
  const TraceLaw law(1.0);  // the score says nothing
  test::Random random(6);
  const TraceTable table = law.draw(600, random);
  const Headroom truth = measure_headroom(table, "quality", {kPrice})[0];
  EXPECT_TRUE(truth.pays());
  EXPECT_THAT(verdict(truth, table, "quality"), testing::StartsWith("routing can pay up to "));
  const Headroom noise = measure_headroom(table, "score", {kPrice})[0];
  EXPECT_FALSE(noise.pays());
  EXPECT_THAT(verdict(noise, table, "score"),
              testing::StartsWith("no cascade is better than " + table.models[noise.fitted.single] +
                                  " with this evaluator (score) at price 10: "));
}

TEST(Headroom, RefusesWhatItCannotMeasure) {
  const TraceLaw law(0.4);
  test::Random random(7);
  const TraceTable table = law.draw(20, random);
  const auto refusal = [](const TraceTable& asked, const std::string& evaluator, double price, ExitCode code) {
    try {
      (void)measure_headroom(asked, evaluator, {price});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return std::string(error.what());
    }
    ADD_FAILURE() << evaluator << " at " << price << " was not refused";
    return std::string();
  };
  EXPECT_THAT(refusal(table, "scores", 1.0, ExitCode::usage),
              HasSubstr("evaluator scores: unknown; the nearest is score"));
  EXPECT_THAT(refusal(table, "score:", 1.0, ExitCode::usage), HasSubstr("score:NAME"));
  EXPECT_THAT(refusal(table, "score:other", 1.0, ExitCode::bad_data), HasSubstr("other"));
  for (const double price : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_THAT(refusal(table, "quality", price, ExitCode::usage), HasSubstr("utility per dollar"));
  EXPECT_THAT(refusal(law.draw(1, random), "quality", 1.0, ExitCode::bad_data), HasSubstr("at least 2"));
  EXPECT_EQ(measure_headroom(law.draw(2, random), "score", {1.0})[0].fold_fits.size(), 2u);
}

}  // namespace
}  // namespace pandora
