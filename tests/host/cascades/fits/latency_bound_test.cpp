// A bound on the seconds of calls in series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "host/cascades/fits/judge_cascade.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using test::TraceLaw;

// The better a model the slower it is.
TraceTable table_with_latencies() {
  TraceTable table = test::drawn_table(TraceLaw(0.0), 400, 5);
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t m = 0; m < TraceLaw::kModels; ++m)
      table.latency.push_back(static_cast<double>(m + 1) + 0.01 * static_cast<double>(row % 10));
  return table;
}

double p95_on(const TraceTable& table, const CascadeFit& fit) {
  return judge_cascade(*fit.cascade, "c.json", table, table.models[0]).latency->p95;
}

std::string said_by_fit(const TraceTable& table, const CascadeFitSettings& settings) {
  try {
    (void)fit_cascade(table, settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LatencyBound, WhatIsDeployedKeepsIt) {
  const TraceTable table = table_with_latencies();
  CascadeFitSettings settings = test::settings_at(0.001);
  const CascadeFit free = fit_cascade(table, settings);
  ASSERT_GT(p95_on(table, free), 4.5);
  double before = HUGE_VAL;
  for (const double most : {20.0, 4.5, 3.5, 2.5, 1.5}) {
    settings.aim.most_latency = most;
    const CascadeFit fit = fit_cascade(table, settings);
    EXPECT_LE(fit.latency, most);
    EXPECT_LE(p95_on(table, fit), most);
    EXPECT_LE(fit.promise.quality.value, before + 0.02);  // a tighter bound buys nothing
    before = fit.promise.quality.value;
    EXPECT_THAT(fit.verdict, testing::HasSubstr("calls in series take at most"));
    EXPECT_EQ(nlohmann::json::parse(fit.cascade->options().about)["latency"]["most"], most);
  }
  settings = test::settings_at(0.001);
  settings.indices = true;
  settings.aim.most_latency = 2.5;
  EXPECT_THAT(fit_cascade(table, settings).notes,
              testing::AllOf(testing::Contains(testing::StartsWith("indices: not deployed; calls in series take")),
                             testing::Contains(testing::HasSubstr("is without the bound on latency"))));
  settings.indices = false;
  settings.aim.most_latency = 20.0;
  EXPECT_EQ(fit_cascade(table, settings).promise.quality.value, free.promise.quality.value);
}

// Against every order of two models with every threshold on a grid that keeps the bound: the best cascade without a bound
// calls slow models often, and a faster one is worth almost as much.
TEST(LatencyBound, FasterThresholdsAreFound) {
  TraceTable table = test::drawn_table(TraceLaw(0.0), 600, 9);
  test::Random random(4);
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t m = 0; m < TraceLaw::kModels; ++m)
      table.latency.push_back((m == 0 ? 0.4 : 0.8 * static_cast<double>(m)) * random.uniform(0.5, 1.5));
  table.latency[5] = NAN;
  CascadeFitSettings settings = test::settings_at(1.0);
  for (const double most : {0.9, 1.4, 2.0, 2.3, 2.6, 2.9, 3.3}) {
    settings.aim.most_latency = most;
    const Outcomes outcomes{TraceLaw::kModels, table.quality, table.quality, table.cost, table.latency};
    double best = -HUGE_VAL;
    for (std::size_t a = 0; a < TraceLaw::kModels; ++a)
      for (std::size_t b = 0; b < TraceLaw::kModels; ++b)
        for (double threshold = 0.0; threshold <= 1.0; threshold += 0.02) {
          const FixedCascade cascade = a == b ? FixedCascade{{a}, {}} : FixedCascade{{a, b}, {threshold}};
          const Routed routed = evaluate(outcomes, cascade, all_rows(table.rows()));
          if (latency_p95(routed.latency) > most) continue;
          const std::vector<double> utility = routed.utility(1.0);
          best =
              std::max(best, std::accumulate(utility.begin(), utility.end(), 0.0) / static_cast<double>(table.rows()));
        }
    const CascadeFit fit = fit_cascade(table, settings);
    EXPECT_LE(fit.latency, most);
    EXPECT_LE(p95_on(table, fit), fit.latency + 1e-9);
    EXPECT_GE(judge_cascade(*fit.cascade, "c.json", table, table.models[0]).worth.utility.value, best - 0.005) << most;
  }
}

TEST(LatencyBound, HoldsBesideABoundOnQuality) {
  const TraceTable table = table_with_latencies();
  CascadeFitSettings settings = test::settings_at(0.0);
  settings.aim = {CascadeAim::Kind::least_quality, 0.999, 2.5};  // which slower models alone would reach
  const CascadeFit fit = fit_cascade(table, settings);
  EXPECT_LE(p95_on(table, fit), 2.5);
  EXPECT_FALSE(fit.choice.chosen().met);
}

TEST(LatencyBound, WhereNothingKeepsItTheLeastIsNamed) {
  const TraceTable table = table_with_latencies();
  CascadeFitSettings settings = test::settings_at(1.0);
  settings.aim.most_latency = 0.5;
  EXPECT_THAT(said_by_fit(table, settings),
              testing::AllOf(testing::HasSubstr("--max-latency 0.5"), testing::HasSubstr("1.09 seconds")));
}

TEST(LatencyBound, IndicesAndUnknownLatenciesCount) {
  TraceTable table = table_with_latencies();
  CascadeFitSettings settings = test::settings_at(0.001);
  settings.set_kind("indices");
  const CascadeFit free = fit_cascade(table, settings);
  ASSERT_GT(p95_on(table, free), 4.5);
  settings.aim.most_latency = 4.5;
  EXPECT_THAT(said_by_fit(table, settings), testing::HasSubstr("--max-latency 4.5"));
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (row % 7 == 0) table.latency[row * TraceLaw::kModels] = NAN;
  settings.aim.most_latency = 20.0;
  EXPECT_GT(fit_cascade(table, settings).latency, 4.5);
}

TEST(LatencyBound, IsRefusedWhereNothingTellsLatencies) {
  TraceTable table = test::drawn_table(TraceLaw(0.0), 100, 5);
  table.source = "plain.csv";
  CascadeFitSettings settings = test::settings_at(1.0);
  for (const double most : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
    settings.aim.most_latency = most;
    EXPECT_THROW(require_sound(settings), Error) << most;
  }
  settings.aim.most_latency = 2.0;
  EXPECT_THAT(said_by_fit(table, settings),
              testing::AllOf(testing::HasSubstr("plain.csv"), testing::HasSubstr("`latency`")));
  table.latency.assign(table.quality.size(), NAN);
  EXPECT_THAT(said_by_fit(table, settings), testing::HasSubstr("`latency`"));
}

}  // namespace
}  // namespace pandora
