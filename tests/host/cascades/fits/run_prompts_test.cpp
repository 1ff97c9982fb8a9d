// What is tested is what is deployed: a table through a Cascade, against the walk over the table's outcomes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/cascades/fits/fitted_indices.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "pandora/error.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

// Any order of some of the models with any thresholds, on values with many ties.
FixedCascade random_order(test::Random& random, std::size_t models) {
  std::vector<std::size_t> left(models);
  std::iota(left.begin(), left.end(), std::size_t{0});
  FixedCascade out;
  for (int length = 1 + random.below(static_cast<int>(models)); length > 0; --length) {
    const auto at = left.begin() + random.below(static_cast<int>(left.size()));
    out.order.push_back(*at);
    left.erase(at);
    if (length > 1) out.thresholds.push_back(0.2 + 0.1 * random.below(9));
  }
  return out;
}

// With a column that says what the first model's call will cost.
TraceTable with_context_column(TraceTable table) {
  PromptColumn column{"hardness", PromptColumn::Kind::number, 1, {}, {}};
  for (std::size_t row = 0; row < table.rows(); ++row) column.numbers.push_back(1000.0 * table.cost[3 * row]);
  table.columns = {column};
  return table;
}

void expect_equal(const Routed& a, const Routed& b) {
  EXPECT_EQ(a.quality, b.quality);
  EXPECT_EQ(a.dollars, b.dollars);
  EXPECT_EQ(a.calls, b.calls);
}

void compare_with_walk(const std::string& evaluator, double judge_usd) {
  const test::TraceLaw law(0.4);
  test::Random random(11);
  const TraceTable table = law.draw(200, random);
  CascadeFitSettings settings;
  settings.evaluator = evaluator;
  settings.indices = false;
  settings.judge_usd = judge_usd;
  const std::vector<std::size_t> rows = all_rows(table.rows());
  const TrainedTable trained(table, settings, rows);
  for (int k = 0; k < 200; ++k) {
    const FixedCascade order = random_order(random, table.models.size());
    const CascadeOptions options = trained.options_of(order, 3.0);
    Cascade cascade(options);
    ModelCounts counts;
    const Routed walked = trained.route(order, rows);
    const CascadeInput input = cascade_input(options, table, order.order.size() > 1 ? judge_usd : 0.0);
    expect_equal(run_prompts(cascade, input, rows, &counts), walked);
    EXPECT_EQ(std::accumulate(counts.called.begin(), counts.called.end(), std::uint64_t{0}),
              std::accumulate(walked.calls.begin(), walked.calls.end(), std::uint64_t{0}));
    EXPECT_EQ(std::accumulate(counts.deployed.begin(), counts.deployed.end(), std::uint64_t{0}), rows.size());
    // As it is written and read.
    Cascade again = Cascade::parse(cascade.text(), "again");
    expect_equal(run_prompts(again, input, rows), walked);
  }
}

TEST(RunPrompts, ThresholdsAreTheWalkOverOutcomes) {
  compare_with_walk("quality", 0.0);
}

TEST(RunPrompts, ThresholdsOnCalibratedScoresAreTheWalkOverOutcomes) {
  compare_with_walk("score", 0.0005);
}

// The features of a table row by row are what a service makes of its prompts.
TEST(RunPrompts, IndicesOfATableAreThoseOfItsPrompts) {
  const test::TraceLaw law(0.4);
  test::Random random(12);
  const TraceTable table = with_context_column(law.draw(80, random));
  CascadeFitSettings settings;
  settings.evaluator = "quality";
  settings.context = {"hardness"};
  const std::vector<std::size_t> rows = all_rows(table.rows());
  const TrainedTable trained(table, settings, rows);
  const CascadeOptions options = trained.options_of_indices(10.0, true);
  Cascade with_features = trained.cascade_of(options),
          with_psi = trained.cascade_of(trained.options_of_indices(10.0, false));
  const Routed by_table = run_prompts(with_features, cascade_input(options, table, 0.0), rows);
  expect_equal(by_table, run_prompts(with_psi, trained.input(), rows));
  EXPECT_LT(std::accumulate(by_table.calls.begin(), by_table.calls.end(), 0u), 3 * rows.size());
  for (const std::size_t row : rows) {
    const std::uint64_t request = with_features.begin(Prompt{"", {{"hardness", table.columns[0].numbers[row]}}});
    std::uint32_t calls = 0;
    while (const auto model = with_features.next(request)) {
      with_features.observe(request, *model, {table.cost[3 * row + *model], {table.quality[3 * row + *model]}});
      ++calls;
    }
    EXPECT_EQ(calls, by_table.calls[row]);
    EXPECT_EQ(table.quality[3 * row + with_features.deploy(request)], by_table.quality[row]);
  }
}

// What a fit judges is what a service runs.
TEST(RunPrompts, FittedIndicesAreACascadeInEveryDigit) {
  const test::TraceLaw law(0.4);
  test::Random random(14);
  const TraceTable table = with_context_column(law.draw(120, random));
  const std::vector<std::size_t> all = all_rows(table.rows()), some(all.begin(), all.begin() + 80);
  for (const char* const evaluator : {"quality", "score"})
    for (const char* const context : {"", "hardness", "raw:hardness"}) {
      CascadeFitSettings settings;
      settings.evaluator = evaluator;
      settings.judge_usd = 0.0001;
      if (*context != '\0') settings.context = {context};
      const TrainedTable trained(table, settings, some);
      const CascadeOptions options = trained.options_of_indices(10.0, false);
      Cascade cascade = trained.cascade_of(options);
      FittedIndices indices = trained.fit_indices(10.0);
      ModelCounts by_cascade, by_indices;
      expect_equal(trained.route(indices, all, &by_indices), run_prompts(cascade, trained.input(), all, &by_cascade));
      EXPECT_EQ(by_indices.called, by_cascade.called) << evaluator << context;
      EXPECT_EQ(by_indices.deployed, by_cascade.deployed) << evaluator << context;
      // As a fold's are, from those of all rows.
      const TrainedTable whole(table, settings, all);
      FittedIndices first = whole.fit_indices(10.0);
      (void)whole.route(first, all);
      FittedIndices near = trained.fit_indices(10.0, &first);
      expect_equal(trained.route(near, all), trained.route(indices, all));
    }
}

TEST(WeitzmanEstimator, StartsAtWhatAnotherOfItsShapeHasSolved) {
  const LaneSpec rules = shrunk_rules(true, 0.0, 3);
  const auto of = [&](int reward_features) {
    return WeitzmanEstimator(EstimatorShape{2, 2, reward_features}, rules, {});
  };
  WeitzmanEstimator near = of(4), same = of(4), other = of(6);
  for (int period = 1; period <= 3; ++period)
    for (int box = 0; box < 2; ++box)
      near.calibrate({period, std::array{1.0f, 0.5f * static_cast<float>(period)}, {}},
                     {box, std::array{1.0f, 0.3f, 0.0f, -0.2f}, 0.1, 0.0}, period == 1 ? 0.0 : 1.0);
  near.begin({4, std::array{1.0f, 0.0f}, {}});
  same.start_at(near);
  other.start_at(near);
  EXPECT_NE(near.theta()[0], 0.0);
  EXPECT_NE(near.rho(1)[1], 0.0);
  EXPECT_TRUE(std::ranges::equal(same.theta(), near.theta()));
  EXPECT_TRUE(std::ranges::equal(same.rho(1), near.rho(1)));
  EXPECT_EQ(other.theta()[0], 0.0);
  EXPECT_EQ(other.rho(1)[1], 0.0);
}

TEST(RunPrompts, ATableThatLacksSomethingIsRefused) {
  const test::TraceLaw law(0.4);
  test::Random random(13);
  const TraceTable table = law.draw(20, random);
  const auto refusal = [&](const CascadeOptions& options, ExitCode code) {
    try {
      (void)cascade_input(options, table, 0.0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return std::string(error.what());
    }
    ADD_FAILURE() << "was not refused";
    return std::string();
  };
  CascadeOptions options;
  options.models = {"small", "larger"};
  EXPECT_THAT(refusal(options, ExitCode::bad_data),
              testing::HasSubstr("made up: has no model larger of the cascade; the nearest is large"));
  options.models = {"small"};
  options.evaluator = "score:gpt";
  EXPECT_THAT(refusal(options, ExitCode::bad_data), testing::HasSubstr("gpt"));
  options.evaluator = "column:phi";
  EXPECT_THAT(refusal(options, ExitCode::usage), testing::HasSubstr("column:phi"));
  options.evaluator = "quality";
  options.rules = shrunk_rules(false, 0.0);
  options.index_features = 3;
  EXPECT_THAT(refusal(options, ExitCode::usage), testing::HasSubstr("3 numbers"));
}

// Seconds of the calls in series, counted from the definition; rows with a call whose latency is not known do not count.
TEST(CascadeTest, LatencyOfCallsInSeries) {
  test::Random random(31);
  TraceTable table = test::TraceLaw(0.3).draw(200, random);
  CascadeOptions options;
  options.models = table.models;
  options.price = 1.0;
  options.evaluator = "quality";
  options.order = {0, 2};
  options.thresholds = {0.5};
  EXPECT_FALSE(judge_cascade(Cascade(options), "c", table, table.models[1]).latency);
  for (std::size_t at = 0; at < table.quality.size(); ++at)
    table.latency.push_back(random.uniform(0.0, 1.0) < 0.1 ? NAN : random.uniform(0.0, 3.0));
  std::vector<double> cascade, alone;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    double seconds = table.latency[3 * row];
    if (table.quality[3 * row] < 0.5) seconds += table.latency[3 * row + 2];
    if (std::isnan(seconds) || std::isnan(table.latency[3 * row + 1])) continue;
    cascade.push_back(seconds);
    alone.push_back(table.latency[3 * row + 1]);
  }
  // As many of the prompts as the share says, and no fewer, take at most so long.
  const auto is_quantile = [](const std::vector<double>& all, double x, double share) {
    const auto least = std::count_if(all.begin(), all.end(), [&](double y) { return y <= x; });
    const auto fewer = std::count_if(all.begin(), all.end(), [&](double y) { return y < x; });
    const double wanted = share * static_cast<double>(all.size());
    return static_cast<double>(least) >= wanted && static_cast<double>(fewer) < wanted;
  };
  const JudgedCascade judged = judge_cascade(Cascade(options), "c", table, table.models[1]);
  ASSERT_TRUE(judged.latency);
  EXPECT_TRUE(is_quantile(cascade, judged.latency->p50, 0.5));
  EXPECT_TRUE(is_quantile(cascade, judged.latency->p95, 0.95));
  EXPECT_TRUE(is_quantile(alone, judged.latency->alone_p50, 0.5));
  EXPECT_TRUE(is_quantile(alone, judged.latency->alone_p95, 0.95));
}

}  // namespace
}  // namespace pandora
