#include "host/outcomes/logs/labels.hpp"

#include <algorithm>
#include <cmath>

#include "host/outcomes/logs/off_policy.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr std::size_t kLeastLabels = 10;  // of a map

// The labelled cells of some rows, of one model or of all.
struct LabelledCells {
  std::vector<double> scores, qualities, weights;

  void add(const TraceTable& table, const std::vector<double>& scores_of, const std::vector<double>& probability,
           std::size_t at) {
    if (std::isnan(table.quality[at]) || std::isnan(scores_of[at])) return;
    scores.push_back(scores_of[at]);
    qualities.push_back(table.quality[at]);
    weights.push_back(1.0 / probability[at]);
  }
  IsotonicMap map() const {
    return scores.empty() ? IsotonicMap{{0.0}, {0.5}} : IsotonicMap::fit(scores, qualities, weights);
  }
};

}  // namespace

ScoreColumn judge_of(const TraceTable& table, const std::string& evaluator) {
  const std::optional<EvaluatorSpec> spec = evaluator_of(evaluator);
  if (spec && spec->kind == EvaluatorSpec::Kind::score) return find_score(table, spec->name);
  return table.scores.empty() ? ScoreColumn{"", std::vector<double>(table.quality.size(), 0.0)} : table.scores[0];
}

std::vector<std::size_t> folds_by_appearance(const PromptGroups& groups) {
  std::vector<std::size_t> rank(groups.count, groups.count), out;
  std::size_t seen = 0;
  for (const std::size_t group : groups.of_row) {
    if (rank[group] == groups.count) rank[group] = seen++;
    out.push_back(rank[group] % kLabelFolds);
  }
  return out;
}

std::vector<double> cross_fitted_quality(const TraceTable& table, const ScoreColumn& score,
                                         const std::vector<double>& probability,
                                         const std::vector<std::size_t>& folds) {
  const std::size_t models = table.models.size();
  std::vector<double> out(table.quality.size(), NAN);
  for (std::size_t fold = 0; fold <= kLabelFolds; ++fold) {
    LabelledCells all;
    std::vector<LabelledCells> of_model(models);
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (folds[at / models] == fold || folds[at / models] == kLabelFolds) continue;
      all.add(table, score.values, probability, at);
      of_model[at % models].add(table, score.values, probability, at);
    }
    const IsotonicMap pooled = all.map();
    std::vector<IsotonicMap> maps;
    for (const LabelledCells& own : of_model) maps.push_back(own.scores.size() < kLeastLabels ? pooled : own.map());
    for (std::size_t at = 0; at < out.size(); ++at)
      if (folds[at / models] == fold && !std::isnan(score.values[at])) out[at] = maps[at % models](score.values[at]);
  }
  return out;
}

std::vector<double> label_probabilities(const TraceTable& table) {
  if (!table.label_propensity.empty()) return table.label_propensity;
  const std::size_t models = table.models.size();
  std::vector<double> known(models, 0.0), all(models, 0.0), out(table.quality.size());
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (std::isnan(table.cost[at])) continue;  // not called
    all[at % models] += 1.0;
    known[at % models] += std::isnan(table.quality[at]) ? 0.0 : 1.0;
  }
  for (std::size_t at = 0; at < out.size(); ++at)
    out[at] = known[at % models] > 0.0 ? known[at % models] / all[at % models] : 1.0;
  return out;
}

std::optional<TraceTable> with_estimated_quality(const TraceTable& table, const std::string& evaluator) {
  const std::size_t unknown = table.unlabelled();
  if (unknown == 0) return {};
  if (evaluator == "quality")
    throw Error(ExitCode::usage, fmt::format("evaluator quality: {} of {} qualities are not known, and nobody can look "
                                             "at them; use a judge's score, or {}",
                                             unknown, table.quality.size(), kDropThem));
  if (table.quality.size() - unknown < kLeastLabels)
    table.refuse("knows the quality of {} answers; give at least {}, better hundreds", table.quality.size() - unknown,
                 kLeastLabels);
  TraceTable out = table;
  out.known_digest = content_digest(table);
  out.notes.push_back(label_note(table));
  out.quality = QualityEstimates(table, evaluator).without(std::vector<bool>(table.rows(), false));
  return out;
}

QualityEstimates::QualityEstimates(const TraceTable& table, const std::string& evaluator)
    : table_(table),
      score_(judge_of(table, evaluator)),
      probability_(label_probabilities(table)),
      folds_(folds_by_appearance(group_prompts(table))) {}

std::vector<double> QualityEstimates::without(const std::vector<bool>& held_out) const {
  std::vector<std::size_t> folds = folds_;
  for (std::size_t row = 0; row < folds.size(); ++row)
    if (held_out[row]) folds[row] = kLabelFolds;
  std::vector<double> out = cross_fitted_quality(table_, score_, probability_, folds);
  for (std::size_t at = 0; at < out.size(); ++at)
    if (!std::isnan(table_.quality[at])) out[at] += (table_.quality[at] - out[at]) / probability_[at];
  return out;
}

bool has_second_calls(const TraceTable& log) {
  return std::ranges::any_of(log.log->place, [](double place) { return place > 1.0; });
}

std::vector<std::string> faults_of_first_calls(const TraceTable& log) {
  const std::size_t models = log.models.size();
  const PromptGroups groups = group_prompts(log);
  std::vector<std::string> out(models);
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<double> weights(log.rows(), 0.0);
    std::size_t calls = 0;
    for (std::size_t row = 0; row < log.rows(); ++row) {
      if (log.log->place[row * models + m] != 1.0) continue;
      weights[row] = 1.0 / log.log->propensity[row * models + m];
      ++calls;
    }
    const LogSupport support = support_of(weights, groups);
    if (calls >= kLeastLabels && std::abs(support.mean - 1.0) > 3.5 * support.mean_error + 1e-9)
      out[m] = fmt::format(
          "weights of the first calls of {} (1 / propensity) have the mean {:.3f} and not 1: propensities are wrong, some "
          "decisions could not call it first, or each model was called by a toss of its own (--openings independent); cascade "
          "fit --models leaves it out",
          log.models[m], support.mean);
    else if (calls >= kLeastLabels && support.effective_prompts < kLeastEffective)
      out[m] = fmt::format(
          "weights of the first calls of {} (1 / propensity) are those of {:.1f} effective prompts, and {:.0f} are needed: log "
          "more decisions, or explore more; cascade fit --models leaves it out",
          log.models[m], support.effective_prompts, kLeastEffective);
  }
  return out;
}

TraceTable with_estimated_first_calls(const TraceTable& log, const std::string& evaluator) {
  const std::size_t models = log.models.size(), cells = log.quality.size();
  const std::vector<std::size_t> folds = folds_by_appearance(group_prompts(log));
  const std::vector<double> label = label_probabilities(log);
  const std::vector<double> guess = cross_fitted_quality(log, judge_of(log, evaluator), label, folds);
  TraceTable out = log;
  out.known_digest = content_digest(log);
  out.log.reset();
  out.label_propensity.clear();
  out.latency.clear();
  out.scores.clear();
  std::vector<double> first(cells, 0.0), calls(models, 0.0);  // 1 / p of a model's first calls
  for (std::size_t at = 0; at < cells; ++at) {
    if (log.log->place[at] != 1.0) continue;
    first[at] = 1.0 / log.log->propensity[at];
    ++calls[at % models];
    if (std::isnan(log.quality[at]))
      out.quality[at] = guess[at];
    else if (!std::isnan(guess[at]))
      out.quality[at] = guess[at] + (log.quality[at] - guess[at]) / label[at];
  }
  for (std::size_t m = 0; m < models; ++m)
    if (calls[m] < static_cast<double>(kLeastLabels))
      log.refuse(
          "calls {} first in {:.0f} decisions; a router needs at least {} of each model, better hundreds (leave "
          "the model out with --models)",
          log.models[m], calls[m], kLeastLabels);
  for (const std::string& fault : faults_of_first_calls(log))
    if (!fault.empty()) log.refuse("{}", fault);
  for (std::vector<double>* const values : {&out.quality, &out.cost}) {
    const std::vector<double> seen = *values;
    for (std::size_t fold = 0; fold < kLabelFolds; ++fold) {
      std::vector<double> sum(models, 0.0), weight(models, 0.0);
      for (std::size_t at = 0; at < cells; ++at) {
        if (folds[at / models] == fold || first[at] == 0.0) continue;
        sum[at % models] += first[at] * seen[at];
        weight[at % models] += first[at];
      }
      for (std::size_t at = 0; at < cells; ++at) {
        if (folds[at / models] != fold) continue;
        const double mean = weight[at % models] > 0.0 ? sum[at % models] / weight[at % models] : 0.0;
        (*values)[at] = first[at] == 0.0 ? mean : mean + first[at] * (seen[at] - mean);
      }
    }
  }
  out.notes.push_back(fmt::format(
      "a log: what each model alone would have brought is estimated from the first calls of {} decisions by "
      "augmented inverse propensity weighting; least called is {}, {:.0f} times",
      log.rows(), log.models[static_cast<std::size_t>(std::ranges::min_element(calls) - calls.begin())],
      *std::ranges::min_element(calls)));
  return out;
}

std::optional<TraceTable> table_to_fit(const TraceTable& table, const std::string& evaluator) {
  if (table.log)
    table.refuse(
        "is a log of decisions, in which models that were not called say nothing; `pandora cascade fit` and `pandora "
        "cascade test` take logs");
  return with_estimated_quality(table, evaluator);
}

std::vector<EstimatedMean> estimated_means(const TraceTable& table, const std::string& evaluator) {
  const std::size_t models = table.models.size();
  const std::vector<double> label = label_probabilities(table);
  // A known quality's weight: 1 / the probability that it became known.
  const auto weight = [&](std::size_t at) {
    if (std::isnan(table.quality[at]) || (table.log && table.log->place[at] != 1.0)) return 0.0;
    return 1.0 / (label[at] * (table.log ? table.log->propensity[at] : 1.0));
  };
  std::vector<EstimatedMean> out(models);
  std::vector<std::string> names;
  std::vector<std::size_t> kept;
  const std::vector<std::string> faults = table.log ? faults_of_first_calls(table) : std::vector<std::string>(models);
  for (std::size_t m = 0; m < models; ++m) {
    if (!faults[m].empty()) continue;
    std::size_t known = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) known += weight(row * models + m) > 0.0;
    if (known < kLeastLabels) continue;
    kept.push_back(m);
    names.push_back(table.models[m]);
  }
  if (kept.empty()) return out;
  const TraceTable some = select_models(table, names);
  const TraceTable estimated =
      table.log ? with_estimated_first_calls(some, evaluator) : with_estimated_quality(some, evaluator).value_or(some);
  const PromptGroups groups = group_prompts(table);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    std::vector<double> quality;
    double sum = 0.0, weights = 0.0, squares = 0.0, total = 0.0, total_squares = 0.0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const double q = estimated.quality[row * kept.size() + k], w = weight(row * models + kept[k]);
      quality.push_back(q);
      total += q;
      total_squares += q * q;
      if (w == 0.0) continue;
      weights += w;
      sum += w * table.quality[row * models + kept[k]];
      squares += w * std::pow(table.quality[row * models + kept[k]], 2);
    }
    const double n = static_cast<double>(table.rows());
    out[kept[k]].quality = mean_over_prompts(quality, groups);
    out[kept[k]].widening =
        std::sqrt((total_squares / n - std::pow(total / n, 2)) / (squares / weights - std::pow(sum / weights, 2)));
  }
  return out;
}

std::string label_note(const TraceTable& table) {
  return fmt::format(
      "quality is known of {} of {} answers; it is estimated by augmented inverse propensity weighting, as if {}",
      table.quality.size() - table.unlabelled(), table.quality.size(),
      table.label_propensity.empty()
          ? "those of a model whose quality is known had been drawn at random"
          : "whether it is known depended on nothing that bears on it beyond label_propensity");
}

}  // namespace pandora
