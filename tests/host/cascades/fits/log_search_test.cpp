#include "host/cascades/fits/log_search.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// The second model is nearly always right and costs nothing, but is called in one of fifty decisions: thresholds that seldom
// accept the first one's answer are the best, and few decisions can tell. Of 2,500 decisions 100 effective ones are asked for.
TEST(LogSearch, ACascadeNeedsMoreDecisionsTheMoreThereAre) {
  constexpr std::size_t kRows = 2500;
  constexpr double kCalled = 0.02;
  test::Random random(11);
  TraceTable log;
  log.models = {"a", "b"};
  log.scores.push_back({"score", {}});
  log.log.emplace();
  for (std::size_t row = 0; row < kRows; ++row) {
    log.prompts.push_back(std::to_string(row));
    const double score = random.uniform(0.0, 1.0);
    const bool goes_on = random.uniform(0.0, 1.0) < kCalled;
    for (const bool second : {false, true}) {
      const bool called = !second || goes_on;
      log.quality.push_back(!called ? NAN : random.uniform(0.0, 1.0) < (second ? 0.95 : score) ? 1.0 : 0.0);
      log.cost.push_back(called ? 1e-6 : NAN);
      log.scores[0].values.push_back(called ? (second ? 1.0 : score) : NAN);
      log.log->place.push_back(called ? 1.0 + second : NAN);
      log.log->propensity.push_back(called ? (second ? kCalled : 1.0) : NAN);
      log.label_propensity.push_back(1.0);
    }
  }
  CascadeFitSettings settings;
  settings.aim.value = 1.0;
  settings.evaluator = "score";
  const CalibratedEvaluator known(log, settings.evaluator);
  CascadeInput input;
  input.table = &log;
  input.columns = {0, 1};
  input.evaluator = settings.evaluator;
  input.shown = known.shown();
  const LogReader reader({}, input, Estimator::dr, Openings::in_order);
  std::vector<std::size_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const LogSearch search(log, reader, settings, rows);
  const FixedCascade best = search.best();
  ASSERT_EQ(best.order, (std::vector<std::size_t>{0, 1}));
  double sum = 0.0, squares = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool accepted = search.calibration()[0](log.scores[0].values[2 * row]) >= best.thresholds[0],
               went_on = !std::isnan(log.cost[2 * row + 1]);
    const double weight = accepted == went_on ? 0.0 : went_on ? 1.0 / kCalled : 1.0 / (1.0 - kCalled);
    sum += weight;
    squares += weight * weight;
  }
  EXPECT_GE(sum * sum / squares, 2.0 * std::sqrt(kRows));
}

}  // namespace
}  // namespace pandora
