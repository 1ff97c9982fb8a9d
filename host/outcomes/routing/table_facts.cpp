#include "host/outcomes/routing/table_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "host/outcomes/tables/prompt_groups.hpp"

namespace pandora {
namespace {

constexpr std::size_t kFactFolds = 5;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<double> of_model(const std::vector<double>& matrix, std::size_t models, std::size_t m) {
  std::vector<double> out;
  for (std::size_t at = m; at < matrix.size(); at += models) out.push_back(matrix[at]);
  return out;
}

ColumnRange range_of(const std::vector<double>& x, double factor) {
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  return {factor * mean, factor * *least, factor * *greatest};
}

// Squared errors of a model's qualities, of its mean and of the calibrated score.
struct SquaredErrors {
  double of_mean = 0.0, of_score = 0.0;
  double explained() const { return of_mean > 0.0 ? 1.0 - of_score / of_mean : kNone; }
};

// Of each model, on the prompts of each fold what was calibrated on the others.
std::vector<SquaredErrors> squared_errors(const TraceTable& table, const ScoreColumn& score,
                                          const PromptGroups& groups) {
  const std::size_t models = table.models.size(), folds = std::min(kFactFolds, groups.count);
  std::vector<SquaredErrors> out(models);
  for (std::size_t f = 0; f < folds && folds > 1; ++f) {
    const Fold fold = fold_of(groups, f, folds);
    const std::vector<IsotonicMap> maps = calibrate_scores(table, score, fold.training);
    for (std::size_t m = 0; m < models; ++m) {
      double mean = 0.0;
      for (const std::size_t row : fold.training) mean += table.quality[row * models + m];
      mean /= static_cast<double>(fold.training.size());
      for (const std::size_t row : fold.held_out) {
        const double quality = table.quality[row * models + m];
        const double calibrated = maps[m](score.values[row * models + m]);
        out[m].of_mean += (quality - mean) * (quality - mean);
        out[m].of_score += (quality - calibrated) * (quality - calibrated);
      }
    }
  }
  return out;
}

std::vector<ScoreTenth> tenths_of(const TraceTable& table, const ScoreColumn& score) {
  std::vector<ScoreTenth> out(10);
  for (std::size_t at = 0; at < score.values.size(); ++at) {
    ScoreTenth& tenth = out[std::min<std::size_t>(9, static_cast<std::size_t>(10.0 * score.values[at]))];
    ++tenth.answers;
    tenth.score += score.values[at];
    tenth.quality += table.quality[at];
  }
  for (ScoreTenth& tenth : out) {
    tenth.score /= static_cast<double>(tenth.answers);  // 0 / 0 is NaN
    tenth.quality /= static_cast<double>(tenth.answers);
  }
  return out;
}

EvaluatorFacts evaluator_facts(const TraceTable& table, const ScoreColumn& score, const PromptGroups& groups) {
  const std::size_t models = table.models.size();
  EvaluatorFacts out{score.name, {}, {}, tenths_of(table, score)};
  SquaredErrors sum;
  const std::vector<SquaredErrors> errors = squared_errors(table, score, groups);
  for (std::size_t m = 0; m < models; ++m) {
    out.models.push_back(
        {correlation(of_model(score.values, models, m), of_model(table.quality, models, m)), errors[m].explained()});
    sum.of_mean += errors[m].of_mean;
    sum.of_score += errors[m].of_score;
  }
  out.all = {correlation(score.values, table.quality), sum.explained()};
  return out;
}

}  // namespace

double correlation(std::span<const double> a, std::span<const double> b) {
  const double n = static_cast<double>(a.size());
  double mean_a = 0.0, mean_b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  const auto varies = [](std::span<const double> x) {
    return std::any_of(x.begin(), x.end(), [&](double value) { return value != x.front(); });
  };
  return varies(a) && varies(b) ? ab / std::sqrt(aa * bb) : kNone;
}

TableFacts table_facts(const TraceTable& table) {
  const std::size_t models = table.models.size();
  const PromptGroups groups = group_prompts(table);
  TableFacts out;
  out.prompts = groups.count;
  std::vector<std::vector<double>> quality;
  for (std::size_t m = 0; m < models; ++m) {
    quality.push_back(of_model(table.quality, models, m));
    out.models.push_back({range_of(quality[m], 1.0), range_of(of_model(table.cost, models, m), 1000.0)});
  }
  for (std::size_t a = 0; a < models; ++a)
    for (std::size_t b = 0; b < models; ++b) out.correlation.push_back(correlation(quality[a], quality[b]));
  for (const ScoreColumn& score : table.scores) out.evaluators.push_back(evaluator_facts(table, score, groups));
  return out;
}

std::vector<std::size_t> models_by_usefulness(const TraceTable& table, double price) {
  const std::size_t models = table.models.size();
  const Outcomes outcomes{models, table.quality, table.quality, table.cost};
  std::vector<std::size_t> out;
  std::vector<double> best(table.rows(), -std::numeric_limits<double>::infinity());
  const auto better = [&](std::size_t row, std::size_t m) {
    return std::max(best[row], outcomes.utility(row * models + m, price));
  };
  while (out.size() < models) {
    std::size_t most_useful = models;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t m = 0; m < models; ++m) {
      if (std::find(out.begin(), out.end(), m) != out.end()) continue;
      double sum = 0.0;
      for (std::size_t row = 0; row < best.size(); ++row) sum += better(row, m);
      if (most_useful == models || sum > most) {
        most = sum;
        most_useful = m;
      }
    }
    out.push_back(most_useful);
    for (std::size_t row = 0; row < best.size(); ++row) best[row] = better(row, most_useful);
  }
  return out;
}

}  // namespace pandora
