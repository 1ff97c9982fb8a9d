#include "host/cascades/fits/frontier_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/cascades/fits/field_metrics.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

constexpr std::uint64_t kSeed = 0x6d657472696373;  // of the bootstrap

// Means over prompts, as one draw of them has them.
struct Means {
  std::vector<CostQuality> cascades, models;
  std::vector<StrongShare> shares;  // of the cascades, and of the weak and the strong model alone
  double oracle = 0.0;              // quality of the best answer to each prompt
};

struct NamedMetric {
  const char *name, *meaning;
  double (*of)(const Means& means, const CostQuality& weak, const CostQuality& strong);
};

double dearest_of(const std::vector<CostQuality>& points) {
  return std::ranges::max(points, {}, &CostQuality::usd).usd;
}

// RouterBench integrates to the dearest of all that are compared.
double dearest_of(const Means& means) {
  return std::max(dearest_of(means.cascades), dearest_of(means.models));
}

std::vector<CostQuality> everyone(const Means& means) {
  std::vector<CostQuality> out = means.cascades;
  out.insert(out.end(), means.models.begin(), means.models.end());
  return out;
}

// Beyond the arena's dearest dollars its formula passes through infinity.
double best_arena_score(const std::vector<CostQuality>& points) {
  double best = -std::numeric_limits<double>::infinity();
  for (const CostQuality& point : points)
    if (const double score = arena_score(point); point.usd < kArenaDearest && score > best) best = score;
  return std::isfinite(best) ? best : std::numeric_limits<double>::quiet_NaN();
}

// clang-format off
using M = const Means&;
using P = const CostQuality&;
const NamedMetric kMetrics[] = {
    {"aiq", "area under the hull over its dollars, divided by their range",
     [](M m, P, P) { return average_improvement(m.cascades, dearest_of(m), false); }},
    {"aiq_code", "the same, divided by the dearest dollars",
     [](M m, P, P) { return average_improvement(m.cascades, dearest_of(m), true); }},
    {"aiq_models", "aiq of mixtures of the models alone",
     [](M m, P, P) { return average_improvement(m.models, dearest_of(m), false); }},
    {"auc", "area under quality over the share of strong calls",
     [](M m, P, P) { return strong_share_area(m.shares); }},
    {"apgr", "of the gap between weak and strong, on average over shares",
     [](M m, P weak, P strong) { return performance_gap_recovered(m.shares, weak.quality, strong.quality); }},
    {"cpt_50", "share of strong calls that recovers 50% of the gap",
     [](M m, P weak, P strong) { return share_that_recovers(m.shares, weak.quality, strong.quality, 0.5); }},
    {"cpt_80", "share of strong calls that recovers 80% of the gap",
     [](M m, P weak, P strong) { return share_that_recovers(m.shares, weak.quality, strong.quality, 0.8); }},
    {"usd_at_80", "$ per 1,000 at 80% of the strong model's quality, on the hull",
     [](M m, P, P strong) { return cost_of_quality(m.cascades, 0.80 * strong.quality); }},
    {"usd_at_90", "$ per 1,000 at 90%",
     [](M m, P, P strong) { return cost_of_quality(m.cascades, 0.90 * strong.quality); }},
    {"usd_at_95", "$ per 1,000 at 95%",
     [](M m, P, P strong) { return cost_of_quality(m.cascades, 0.95 * strong.quality); }},
    {"usd_at_100", "$ per 1,000 at 100%",
     [](M m, P, P strong) { return cost_of_quality(m.cascades, strong.quality); }},
    {"deferral_area", "area under quality over shares of the dearest model's dollars",
     [](M m, P, P) { return deferral_area(m.cascades, dearest_of(m.models), 1.0); }},
    {"deferral_area_50", "the same up to half of them",
     [](M m, P, P) { return deferral_area(m.cascades, dearest_of(m.models), 0.5); }},
    {"quality_neutral_cost", "least share of the dearest model's dollars at the strong one's quality",
     [](M m, P, P strong) { return least_cost_at(m.cascades, strong.quality) / dearest_of(m.models); }},
    {"arena_score", "RouterArena's, of the cascade where it is greatest",
     [](M m, P, P) { return best_arena_score(m.cascades); }},
    {"perf_gain", "greatest quality over the strong model's, less 1",
     [](M m, P, P strong) { return greatest_quality(m.cascades) / strong.quality - 1.0; }},
    {"cost_save", "share of the strong model's dollars saved at its quality",
     [](M m, P, P strong) { return 1.0 - least_cost_at(m.cascades, strong.quality) / strong.usd; }},
    {"pareto_dist", "mean distance to the front of cascades and models",
     [](M m, P, P) { return pareto_distance(m.cascades, everyone(m)); }},
    {"oracle_gap", "1 - greatest quality over that of each prompt's best answer",
     [](M m, P, P) { return 1.0 - greatest_quality(m.cascades) / m.oracle; }},
};
// clang-format on

struct JudgeMetric {
  const char *name, *meaning;
  double (*of)(const ForecastAnswers& raw, const ForecastAnswers& calibrated, std::span<const std::uint32_t> weights);
};

using A = const ForecastAnswers&;
using W = std::span<const std::uint32_t>;
const JudgeMetric kJudgeMetrics[] = {
    {"judge_ece", "the judge's calibration error, 15 bins", [](A raw, A, W w) { return raw.calibration_error(w); }},
    {"judge_ece_calibrated", "the same after the fit's calibration",
     [](A, A calibrated, W w) { return calibrated.calibration_error(w); }},
    {"judge_auroc", "that a right answer's score is the greater one",
     [](A raw, A, W w) { return raw.area_under_roc(w); }},
    {"judge_aurc", "area under risk over coverage, by scores", [](A raw, A, W w) { return raw.area_under_risk(w); }},
    {"judge_risk_50", "mean loss of the half with the greatest scores",
     [](A raw, A, W w) { return raw.risk_at(0.5, w); }},
};

// Sums over the rows of each prompt: of a count, the oracle, and dollars, quality and strong calls of each point.
class PromptSums {
 public:
  PromptSums(const Frontier& frontier, const TraceTable& test, std::size_t weak, std::size_t strong)
      : cascades_(frontier.cascades.size()),
        models_(frontier.singles.size()),
        weak_(weak),
        strong_(strong),
        width_(2 + 3 * (cascades_ + models_)),
        sums_(frontier.groups.count * width_) {
    for (std::size_t row = 0; row < test.rows(); ++row) {
      double* const sums = &sums_[frontier.groups.of_row[row] * width_];
      const double* const answers = &test.quality[row * models_];
      sums[0] += 1.0;
      sums[1] += *std::max_element(answers, answers + models_);
      double* at = sums + 2;
      for (const std::vector<FrontierPoint>* some : {&frontier.cascades, &frontier.singles})
        for (const FrontierPoint& point : *some) {
          *at++ += 1000.0 * point.routed.dollars[row];
          *at++ += point.routed.quality[row];
          *at++ += point.called[row] >> strong & 1u;
        }
    }
  }

  // `weights`: of each prompt.
  Means means(std::span<const std::uint32_t> weights) const {
    std::vector<double> sum(width_, 0.0);
    for (std::size_t prompt = 0; prompt < weights.size(); ++prompt) {
      const double weight = weights[prompt];
      for (std::size_t j = 0; j < width_ && weight > 0.0; ++j) sum[j] += weight * sums_[prompt * width_ + j];
    }
    for (std::size_t j = 1; j < width_; ++j) sum[j] /= sum[0];
    Means out;
    out.oracle = sum[1];
    for (std::size_t i = 0; i < cascades_ + models_; ++i) {
      const double* const at = &sum[2 + 3 * i];
      (i < cascades_ ? out.cascades : out.models).push_back({at[0], at[1]});
      if (i < cascades_) out.shares.push_back({at[2], at[1]});
    }
    out.shares.push_back({0.0, out.models[weak_].quality});
    out.shares.push_back({1.0, out.models[strong_].quality});
    return out;
  }

 private:
  std::size_t cascades_, models_, weak_, strong_, width_;
  std::vector<double> sums_;
};

struct Judge {
  ForecastAnswers raw, calibrated;
};

// How often each prompt comes in a draw of as many; every one once in the first, which is the table as it is.
std::vector<std::uint32_t> drawn(std::size_t draw, std::size_t prompts) {
  if (draw == 0) return std::vector<std::uint32_t>(prompts, 1);
  std::vector<std::uint32_t> out(prompts);
  for (std::size_t i = 0; i < prompts; ++i) ++out[mixed(kSeed + (draw * prompts + i) * 0x9e3779b97f4a7c15u) % prompts];
  return out;
}

// by_draw[0] is the value.
Interval interval_over(const std::vector<double>& by_draw) {
  constexpr double kMostUndefined = 0.05;
  std::vector<double> known;
  std::copy_if(by_draw.begin() + 1, by_draw.end(), std::back_inserter(known),
               [](double x) { return std::isfinite(x); });
  const double draws = static_cast<double>(by_draw.size() - 1);
  if (draws - static_cast<double>(known.size()) > kMostUndefined * draws) known.clear();
  return {by_draw[0], quantile_of(known, 0.025), quantile_of(known, 0.975)};
}

}  // namespace

FrontierMetrics metrics_of(const Frontier& frontier, const TraceTable& test,
                           const std::vector<IsotonicMap>& calibration, unsigned threads) {
  FrontierMetrics out;
  if (frontier.cascades.empty()) return out;
  const std::size_t weak = frontier.mixtures.front().cheap, strong = frontier.mixtures.back().dear;
  out.weak = frontier.singles[weak].name;
  out.strong = frontier.singles[strong].name;
  const PromptSums sums(frontier, test, weak, strong);
  std::optional<Judge> judge;
  if (!calibration.empty()) {
    const CalibratedEvaluator evaluator(test, frontier.evaluator);
    judge = Judge{ForecastAnswers(evaluator.shown(), test.quality, test.models.size()),
                  ForecastAnswers(evaluator.seen(calibration), test.quality, test.models.size())};
  }
  for (const NamedMetric& metric : kMetrics) out.values.push_back({metric.name, metric.meaning, {}});
  for (const JudgeMetric& metric : kJudgeMetrics)
    if (judge) out.values.push_back({metric.name, metric.meaning, {}});
  std::vector<std::vector<double>> by_draw(out.values.size(), std::vector<double>(kMetricDraws + 1));
  in_parallel(threads, kMetricDraws + 1, [&](std::size_t draw) {
    const std::vector<std::uint32_t> weights = drawn(draw, frontier.groups.count);
    const Means means = sums.means(weights);
    std::size_t at = 0;
    for (const NamedMetric& metric : kMetrics)
      by_draw[at++][draw] = metric.of(means, means.models[weak], means.models[strong]);
    if (!judge) return;
    std::vector<std::uint32_t> by_row;
    for (const std::size_t prompt : frontier.groups.of_row) by_row.push_back(weights[prompt]);
    for (const JudgeMetric& metric : kJudgeMetrics)
      by_draw[at++][draw] = metric.of(judge->raw, judge->calibrated, by_row);
  });
  for (std::size_t i = 0; i < by_draw.size(); ++i) out.values[i].value = interval_over(by_draw[i]);
  return out;
}

Table metrics_table(const Frontier& frontier, bool explained) {
  Table out;
  out.title = fmt::format("Metrics of the field on {}: weak model {}, strong model {}", frontier.tested_on,
                          frontier.metrics.weak, frontier.metrics.strong);
  out.columns = {"metric", "value"};
  for (const FrontierMetric& metric : frontier.metrics.values) {
    const bool dollars = metric.name.starts_with("usd");
    out.rows.push_back({{metric.name, dollars ? usd_text(metric.value) : interval_text(metric.value, 4)}});
    if (explained) out.notes.push_back(metric.name + ": " + metric.meaning);
  }
  out.notes.push_back(
      fmt::format("95% intervals over prompts: percentiles of {} bootstrap draws from a fixed seed", kMetricDraws));
  return out;
}

nlohmann::json metrics_json(const Frontier& frontier) {
  nlohmann::json out = {{"weak", frontier.metrics.weak}, {"strong", frontier.metrics.strong}};
  for (const FrontierMetric& metric : frontier.metrics.values) out[metric.name] = json_of(metric.value);
  return out;
}

nlohmann::json frontier_json(const Frontier& frontier) {
  nlohmann::json points = nlohmann::json::array();
  const auto add = [&](const char* kind, const FrontierPoint& point) {
    points.push_back({{"kind", kind},
                      {"name", point.name},
                      {"price", point.price},
                      {"usd_per_1000", json_of(point.usd_per_1000)},
                      {"quality", json_of(point.quality)},
                      {"calls", point.calls},
                      {"above_mixture", point.above_mixture}});
  };
  for (const FrontierPoint& point : frontier.cascades) add("cascade", point);
  for (const FrontierPoint& point : frontier.singles) add("single", point);
  return {{"fitted_on", frontier.fitted_on},
          {"tested_on", frontier.tested_on},
          {"kind", frontier.kind},
          {"evaluator", frontier.evaluator},
          {"judge_usd", frontier.judge_usd ? nlohmann::json(*frontier.judge_usd) : nlohmann::json()},
          {"prompts", frontier.prompts},
          {"points", points},
          {"steps", frontier.steps},
          {"metrics", metrics_json(frontier)}};
}

nlohmann::json frontier_numbers(const Frontier& frontier) {
  nlohmann::json out = frontier_json(frontier);
  out["evaluator"] = evaluator_text(frontier.evaluator, frontier.judge_usd);
  out["mixtures"] = nlohmann::json::array();
  for (const MixturePoint& point : frontier.mixtures) out["mixtures"].push_back({point.usd_per_1000, point.quality});
  Table steps = frontier_steps(frontier), metrics = metrics_table(frontier, true);
  steps.label = "steps";
  metrics.label = "metrics";
  out["tables"] = {table_json(steps), table_json(metrics)};
  return out;
}

}  // namespace pandora
