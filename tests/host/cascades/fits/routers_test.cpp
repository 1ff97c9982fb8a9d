// Routers, with and without thresholds behind them: fitted, judged, and run as they were judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "host/cascades/fits/frontier.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

// A small model whose answers are the worse the harder a prompt is, a large one that hardly cares and costs 20 times as
// much, and a judge that is mostly right. The context is how hard a prompt is.
TraceTable with_hardness(std::size_t rows, std::uint64_t seed, const std::string& prefix = "") {
  test::Random random(seed);
  TraceTable table;
  table.source = "made up";
  table.models = {"small", "large"};
  table.scores = {{"score", {}}};
  PromptColumn column{"hardness", PromptColumn::Kind::number, 1, {}, {}};
  for (std::size_t row = 0; row < rows; ++row) {
    const double hardness = random.uniform(0.0, 1.0);
    column.numbers.push_back(hardness);
    table.prompts.push_back(prefix + std::to_string(row));
    for (const double mean : {1.0 - hardness, 0.85}) {
      table.quality.push_back(std::clamp(mean + random.uniform(-0.3, 0.3), 0.0, 1.0));
      table.scores[0].values.push_back(std::clamp(table.quality.back() + random.uniform(-0.2, 0.2), 0.0, 1.0));
    }
    table.cost.insert(table.cost.end(), {0.001, 0.02});
  }
  table.columns = {column};
  table.named_prompts = true;
  return table;
}

CascadeFitSettings settings_for(const std::string& kind, double price, const std::string& evaluator,
                                std::optional<double> judge_usd = {}) {
  CascadeFitSettings out;
  out.aim.value = price;
  out.evaluator = evaluator;
  out.context = {"hardness"};
  out.judge_usd = judge_usd;
  out.threads = 1;
  out.set_kind(kind);
  return out;
}

double sum(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

// Row by row what the table says is what the object does, also one that was saved; judging is paid where it is done.
TEST(Routers, AreRunAsTheyWereJudged) {
  const TraceTable table = with_hardness(300, 21);
  const std::vector<std::size_t> rows = all_rows(table.rows());
  for (const auto& [kind, judge_usd] :
       {std::pair{CascadeKind::router, 0.001}, {CascadeKind::routed, 0.0}, {CascadeKind::routed, 0.0002}}) {
    const CascadeFitSettings settings = settings_for(kind_text(kind), 10.0, "score", judge_usd);
    const TrainedTable trained(table, settings, rows);
    const FittedRouter fitted = trained.fit_router({kind, 10.0});
    const CascadeOptions options = trained.options_of(fitted, 10.0);
    EXPECT_EQ(kind_of(options), std::string(kind_text(kind)));
    const Routed walked = trained.route(fitted, 10.0, rows);
    const CascadeInput input = cascade_input(options, table, judge_usd);
    Cascade cascade(options), again = Cascade::parse(cascade.text(), "again");
    for (Cascade* const one : {&cascade, &again}) {
      ModelCounts counts;
      const Routed run = run_prompts(*one, input, rows, &counts);
      EXPECT_EQ(run.quality, walked.quality);
      EXPECT_EQ(run.dollars, walked.dollars);
      EXPECT_EQ(run.calls, walked.calls);
      EXPECT_EQ(counts.judged > 0, kind == CascadeKind::routed);
      EXPECT_LT(counts.judged, sum(run.calls));
    }
  }
}

TEST(Routers, WithoutAJudgeTheContextIsWorthWhatItTells) {
  const TraceTable table = with_hardness(400, 22), other = with_hardness(400, 23, "t");
  const CascadeFit fit = fit_cascade(table, settings_for("auto", 10.0, "none"));
  ASSERT_EQ(fit.choice.kind, CascadeKind::router);
  EXPECT_EQ(fit.kinds.size(), 1u);
  EXPECT_EQ(fit.promise.calls.value, 1.0);
  EXPECT_EQ(fit.choice.judged_calls, 0.0);
  EXPECT_EQ(fit.break_even_judge, 0.0);
  EXPECT_THAT(fit.verdict, HasSubstr("for each prompt, by its context, one of"));
  EXPECT_THAT(fit.verdict, HasSubstr("; no answer is judged"));
  EXPECT_EQ(eyes_text("none", {}, 0.0), "no answer is judged");  // also where one model is the best
  const JudgedCascade judged = judge_cascade(*fit.cascade, "c.json", other, "");
  EXPECT_EQ(judged.worth.calls.value, 1.0);
  EXPECT_GT(judged.worth.gain.low, 0.0);
  EXPECT_LE(fit.promise.utility.low, judged.worth.utility.value);
  EXPECT_GE(fit.promise.utility.high, judged.worth.utility.value);
  EXPECT_THAT(judged.verdict, HasSubstr("no answer is judged"));
  // No rule of the context is better than the large model from some hardness on.
  double best = 0.0;
  for (int k = 0; k <= 100; ++k) {
    double utility = 0.0;
    for (std::size_t row = 0; row < other.rows(); ++row) {
      const std::size_t at = 2 * row + (100.0 * other.columns[0].numbers[row] >= k);
      utility += (other.quality[at] - 10.0 * other.cost[at]) / 400.0;
    }
    best = std::max(best, utility);
  }
  EXPECT_NEAR(judged.worth.utility.value, best, 0.015);
}

// What judging costs decides which kind is worth most.
TEST(Routers, AutoTakesARouterWhereJudgingIsDearAndThresholdsWhereItIsPerfect) {
  const TraceTable table = with_hardness(400, 24);
  EXPECT_EQ(fit_cascade(table, settings_for("auto", 10.0, "score", 0.02)).choice.kind, CascadeKind::router);
  const CascadeFit seen = fit_cascade(table, settings_for("auto", 10.0, "quality"));
  EXPECT_GT(seen.choice.cascade, CascadeKind::router);
  EXPECT_EQ(seen.kinds.size(), 4u);
  const Frontier frontier =
      find_frontier(table, with_hardness(300, 25, "t"), settings_for("auto", 0.0, "score", 0.02), {10.0});
  EXPECT_EQ(frontier.kind, "auto");
  EXPECT_EQ(frontier.cascades[0].calls, 1.0);
  EXPECT_THAT(frontier.cascades[0].name, HasSubstr(" | "));
}

TEST(Routers, KeepABoundOnDollars) {
  const TraceTable table = with_hardness(400, 26), other = with_hardness(2000, 27, "t");
  CascadeFitSettings settings = settings_for("router", 0.0, "none");
  settings.aim = {CascadeAim::Kind::most_usd, 0.008};
  const CascadeFit fit = fit_cascade(table, settings);
  EXPECT_EQ(fit.choice.kind, CascadeKind::router);
  EXPECT_TRUE(fit.choice.chosen().met);
  const JudgedCascade judged = judge_cascade(*fit.cascade, "c.json", other, "");
  EXPECT_LE(judged.worth.usd_per_1000.value, 8.0);
  EXPECT_GT(judged.worth.quality.value, judged.alone.quality.value);
}

TEST(Routers, AreRefusedWhereNothingTellsPromptsApart) {
  const auto refused = [](CascadeFitSettings settings, const std::string& part) {
    try {
      require_sound(settings);
      ADD_FAILURE() << "was not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  CascadeFitSettings settings = settings_for("router", 1.0, "none");
  EXPECT_NO_THROW(require_sound(settings));
  settings.context = {};
  refused(settings, "give --context, such as");
  refused(settings_for("thresholds", 1.0, "none"), "--context: thresholds do not use it");
  refused(settings_for("routed", 1.0, "none"), "use it with --kind router");
  refused(settings_for("router", 1.0, "none", 0.001), "--judge-usd: with --evaluator none");
  EXPECT_THROW(settings.set_kind("rooter"), Error);
}

// Decisions of a service that calls one model each, the dear one more often where prompts are hard, and knows the quality
// of its answer with probability `known`.
TraceTable log_of(const TraceTable& table, double known, test::Random& random) {
  TraceTable log = table;
  log.log.emplace();
  log.scores.clear();
  for (double& dollars : log.cost) dollars *= random.uniform(0.2, 1.8);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double dear = 0.3 + 0.4 * table.columns[0].numbers[row];
    const std::size_t called = random.uniform(0, 1) < dear ? 1 : 0;
    for (std::size_t m = 0; m < 2; ++m) {
      log.log->propensity.push_back(m != called ? NAN : m == 1 ? dear : 1.0 - dear);
      log.log->place.push_back(m == called ? 1.0 : NAN);
      if (m != called) log.cost[2 * row + m] = NAN;
      if (m != called || random.uniform(0, 1) >= known) log.quality[2 * row + m] = NAN;
    }
  }
  return log;
}

// A router of a log is nearly as good as one of all outcomes, and its promise holds the truth.
TEST(Routers, AreFittedToLogsOfOneCall) {
  constexpr int kLogs = 24;
  constexpr double kUtilityOfDollar = 10.0;
  const TraceTable world = with_hardness(4000, 99);
  test::Random random(5);
  double gain_of_logs = 0.0, gain_of_table = 0.0;
  int routers = 0, utility = 0, dollars = 0, gain = 0;
  for (int k = 0; k < kLogs; ++k) {
    const TraceTable table = with_hardness(700, 200 + static_cast<std::uint64_t>(k));
    const auto worth = [&](const CascadeFit& fit) {
      const CascadeInput input = cascade_input(fit.cascade->options(), world, 0.0);
      return run_prompts(*fit.cascade, input, all_rows(world.rows()));
    };
    const CascadeFit fit =
        fit_cascade(log_of(table, k % 2 == 0 ? 1.0 : 0.6, random), settings_for("router", kUtilityOfDollar, "none"));
    routers += std::string(kind_of(fit.cascade->options())) == "router";
    const Routed found = worth(fit);
    const double n = static_cast<double>(world.rows()), truth = sum(found.utility(kUtilityOfDollar)) / n;
    const std::vector<std::size_t> all = all_rows(world.rows());
    double alone[2];
    for (std::size_t m = 0; m < 2; ++m)
      alone[m] = sum(evaluate({2, world.quality, world.quality, world.cost}, FixedCascade{{m}, {}}, all)
                         .utility(kUtilityOfDollar)) /
                 n;
    const auto holds = [](const Interval& interval, double x) { return interval.low <= x && x <= interval.high; };
    utility += holds(fit.promise.utility, truth);
    dollars += holds(fit.promise.usd_per_1000, 1000.0 * sum(found.dollars) / n);
    gain += holds(fit.promise.gain, truth - alone[fit.single_model == world.models[1]]);
    if (k >= 8) continue;
    const double best = std::max(alone[0], alone[1]);
    gain_of_logs += truth - best;
    gain_of_table +=
        sum(worth(fit_cascade(table, settings_for("router", kUtilityOfDollar, "none"))).utility(kUtilityOfDollar)) / n -
        best;
  }
  // 95% less three standard errors of 24 logs.
  for (const int held : {utility, dollars, gain})
    EXPECT_GE(held, static_cast<int>(kLogs * 0.95 - 3.0 * std::sqrt(kLogs * 0.0475)));
  EXPECT_GE(routers, 20);  // else the log is not sure of any gain
  EXPECT_GE(gain_of_logs, 0.9 * gain_of_table);
  const TraceTable few = log_of(with_hardness(20, 1), 1.0, random);
  EXPECT_THROW((void)fit_cascade(few, settings_for("router", kUtilityOfDollar, "none")), Error);
}

// Means of other folds are of what was logged, however rare a model is.
TEST(Routers, FirstCallsOfARareModelHaveItsMean) {
  test::Random random(3);
  TraceTable log = with_hardness(4000, 5);
  log.log.emplace();
  log.scores.clear();
  std::vector<double> truth(2, 0.0);
  for (std::size_t at = 0; at < 8000; ++at) truth[at % 2] += log.quality[at] / 4000.0;
  for (std::size_t row = 0; row < 4000; ++row) {
    const std::size_t called = random.uniform(0, 1) < 0.05 ? 1 : 0;
    for (std::size_t m = 0; m < 2; ++m) {
      log.log->propensity.push_back(m != called ? NAN : m == 1 ? 0.05 : 0.95);
      log.log->place.push_back(m == called ? 1.0 : NAN);
      if (m != called) log.cost[2 * row + m] = log.quality[2 * row + m] = NAN;
    }
  }
  for (std::size_t m = 0; m < 2; ++m) {
    const EstimatedMean found = estimated_means(log, "none")[m];
    EXPECT_NEAR(found.quality.value, truth[m], 2.0 * (found.quality.high - found.quality.value));
    EXPECT_LT(found.quality.high - found.quality.low, 0.1);  // 200 calls, of a deviation of 0.17
  }
}

// Indices would learn from single estimates of qualities, which are none.
TEST(Routers, IndicesNeedEveryQuality) {
  TraceTable table = with_hardness(400, 6);
  for (std::size_t at = 0; at < 800; at += 3) table.quality[at] = NAN;
  EXPECT_THROW((void)fit_cascade(table, settings_for("indices", 10.0, "score")), Error);
  EXPECT_STRNE(kind_of(fit_cascade(table, settings_for("auto", 10.0, "score")).cascade->options()), "indices");
}

// A log in which no model has enough decisions is refused, and not read as if one had.
TEST(Routers, ALogOfTooFewDecisionsIsRefused) {
  test::Random random(4);
  TraceTable log = log_of(with_hardness(60, 7), 1.0, random);
  log.scores.push_back({"score", log.quality});
  CascadeFitSettings settings = settings_for("thresholds", 10.0, "score");
  settings.context.clear();
  EXPECT_THROW((void)fit_cascade(log, settings), Error);
}

}  // namespace
}  // namespace pandora
