// Quality against dollars, on tables that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/frontier_metrics.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

// The law's prompts under names of their own, so that two tables have none in common.
TraceTable named_table(std::size_t rows, std::uint64_t seed) {
  TraceTable table = test::drawn_table(test::TraceLaw(0.4), rows, seed);
  TextColumn names;
  for (std::size_t row = 0; row < rows; ++row) names.push_back(std::to_string(seed) + "-" + std::to_string(row));
  table.prompts = names;
  table.named_prompts = true;
  return table;
}

TEST(CascadeFrontier, GoesFromTheCheapestToTheBest) {
  const Frontier frontier = find_frontier(named_table(400, 1), named_table(300, 2), test::settings_at(0.0), {});
  EXPECT_EQ(frontier.prompts, 300u);
  ASSERT_EQ(frontier.singles.size(), 3u);
  ASSERT_GE(frontier.cascades.size(), 3u);
  EXPECT_EQ(frontier.cascades[0].name, "small");  // at the greatest price
  for (std::size_t i = 1; i < frontier.cascades.size(); ++i)
    EXPECT_LT(frontier.cascades[i].price, frontier.cascades[i - 1].price);
  for (std::size_t i = 1; i < frontier.steps.size(); ++i) {
    const FrontierPoint &a = frontier.cascades[frontier.steps[i - 1]], &b = frontier.cascades[frontier.steps[i]];
    EXPECT_GT(b.usd_per_1000.value, a.usd_per_1000.value);
    EXPECT_GT(b.quality.value, a.quality.value);
  }
  for (const FrontierPoint& point : frontier.cascades)
    EXPECT_TRUE(point.quality.low < point.quality.value && point.quality.value < point.quality.high);
}

// The numbers are those of field_metrics_test.cpp; here that they are of the right points, and their intervals.
TEST(CascadeFrontier, HasTheMetricsOfTheField) {
  CascadeFitSettings settings = test::settings_at(0.0);
  settings.evaluator = "score";
  const Frontier frontier = find_frontier(named_table(400, 1), named_table(300, 2), settings, {});
  const auto metric = [&](const std::string& name) {
    const auto found = std::ranges::find(frontier.metrics.values, name, &FrontierMetric::name);
    EXPECT_NE(found, frontier.metrics.values.end()) << name;
    return found->value;
  };
  EXPECT_EQ(frontier.metrics.weak, "small");
  double greatest = 0.0;
  for (const FrontierPoint& point : frontier.cascades) greatest = std::max(greatest, point.quality.value);
  const auto strong = std::ranges::find(frontier.singles, frontier.metrics.strong, &FrontierPoint::name);
  EXPECT_NEAR(metric("perf_gain").value, greatest / strong->quality.value - 1.0, 1e-12);
  for (const FrontierMetric& found : frontier.metrics.values) {
    if (!std::isfinite(found.value.low)) continue;
    EXPECT_LE(found.value.low, found.value.high) << found.name;
    EXPECT_GT(found.value.high, found.value.value - 1e-9) << found.name;
  }
  EXPECT_GT(metric("aiq").value, metric("aiq_models").value);
  EXPECT_LE(metric("judge_ece_calibrated").value, metric("judge_ece").value);
  EXPECT_NE(test::settings_at(0.0).evaluator, "score");
  const nlohmann::json json = frontier_json(frontier), &metrics = json["metrics"];
  EXPECT_EQ(metrics["aiq"]["value"], metric("aiq").value);
  EXPECT_EQ(json["points"].size(), frontier.cascades.size() + frontier.singles.size());
  // Draws are the same every time.
  EXPECT_EQ(metrics, metrics_json(find_frontier(named_table(400, 1), named_table(300, 2), settings, {})));
  for (const FrontierPoint& point : frontier.cascades)
    for (std::size_t row = 0; row < point.called.size(); ++row)
      EXPECT_EQ(std::popcount(point.called[row]), static_cast<int>(point.routed.calls[row]));
}

// A grid of doubling prices steps over what lies between; the one that is made where none is given does not.
TEST(CascadeFrontier, StepsThatAreFarApartAreFilledIn) {
  const TraceTable table = named_table(400, 1), test = named_table(300, 2);
  const auto widest = [](const Frontier& frontier) {
    double out = 0.0;
    for (std::size_t i = 1; i < frontier.cascades.size(); ++i)
      out = std::max(out, frontier.cascades[i].usd_per_1000.value - frontier.cascades[i - 1].usd_per_1000.value);
    return out / (frontier.cascades.back().usd_per_1000.value - frontier.cascades.front().usd_per_1000.value);
  };
  const Frontier filled = find_frontier(table, test, test::settings_at(0.0), {});
  const Frontier doubled = find_frontier(table, test, test::settings_at(0.0), price_grid(table));
  EXPECT_GT(filled.cascades.size(), doubled.cascades.size());
  EXPECT_LT(widest(filled), 0.8 * widest(doubled));
}

// Three models of which the middle one is worse than a mixture of the others.
TEST(CascadeFrontier, MixturesAreOfTheModelsOnTheHull) {
  const auto table_of = [](const std::string& prefix) {
    TraceTable table;
    table.source = prefix;
    table.models = {"middle", "dear", "cheap"};
    table.named_prompts = true;
    for (int row = 0; row < 20; ++row) {
      table.prompts.push_back(prefix + std::to_string(row));
      const double wobble = row % 2 == 0 ? 0.01 : -0.01;
      table.quality.insert(table.quality.end(), {0.5 + wobble, 0.9 + wobble, 0.3 + wobble});
      table.cost.insert(table.cost.end(), {0.5, 0.9, 0.1});
    }
    return table;
  };
  const Frontier frontier = find_frontier(table_of("a"), table_of("b"), test::settings_at(0.0), {0.0, 0.1});
  for (const MixturePoint& point : frontier.mixtures) {
    EXPECT_NE(point.cheap, 0u);
    EXPECT_NE(point.dear, 0u);
    EXPECT_NEAR(point.quality, 0.3 + 0.6 * point.share, 1e-12);
    EXPECT_NEAR(point.usd_per_1000, 100.0 + 800.0 * point.share, 1e-9);
  }
  EXPECT_EQ(frontier.mixtures.front().share, 0.0);
  EXPECT_EQ(frontier.mixtures.back().share, 1.0);
  EXPECT_NEAR(frontier.singles[0].above_mixture, 0.5 - 0.6, 1e-9);
  EXPECT_NEAR(frontier.singles[1].above_mixture, 0.0, 1e-9);
}

TEST(CascadeFrontier, AsTablesAndAsNumbers) {
  const Frontier frontier = find_frontier(named_table(200, 3), named_table(200, 4), test::settings_at(0.0), {});
  const Columns columns = frontier_columns(frontier);
  EXPECT_EQ(columns.rows(), frontier.cascades.size() + frontier.singles.size() + frontier.mixtures.size());
  const std::string csv = columns.csv();
  EXPECT_THAT(csv, testing::StartsWith("kind,name,price,usd_per_1000,usd_low,usd_high,quality,quality_low,quality_high,"
                                       "calls,above_mixture,evaluator,judge_usd\ncascade,"));
  EXPECT_THAT(csv, HasSubstr("\nsingle,medium,"));
  EXPECT_THAT(csv, HasSubstr("\nmixture,"));
  const Table steps = frontier_steps(frontier);
  EXPECT_EQ(steps.rows.size(), frontier.steps.size());
  EXPECT_EQ(steps.rows[0].cells[5].text, "---");
  const nlohmann::json numbers = frontier_numbers(frontier);
  EXPECT_EQ(numbers["points"].size(), frontier.cascades.size() + frontier.singles.size());
  EXPECT_EQ(numbers["mixtures"].size(), frontier.mixtures.size());
  EXPECT_EQ(numbers["tables"][0]["label"], "steps");
  EXPECT_THAT(numbers["evaluator"].get<std::string>(), testing::StartsWith("evaluator "));
}

TEST(CascadeFrontier, RefusesTablesThatShareAPrompt) {
  const TraceTable table = named_table(50, 5);
  EXPECT_THROW(find_frontier(table, table, test::settings_at(0.0), {}), Error);
  EXPECT_THROW(find_frontier(table, named_table(50, 6), test::settings_at(0.0), {1.0, -1.0}), Error);
  EXPECT_THROW(find_frontier(table, select_models(named_table(50, 6), {"small"}), test::settings_at(0.0), {}), Error);
}

}  // namespace
}  // namespace pandora
