// What a table says of its models and judges, before any routing, and what routing can pay: the best single model,
// Weitzman's index policy, the best fixed cascade and a bound, each judged on prompts that it was not fitted on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/cascades/fits/trace_check.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr std::size_t kFactFolds = 5;

std::vector<double> of_model(const std::vector<double>& matrix, std::size_t models, std::size_t m) {
  std::vector<double> out;
  for (std::size_t at = m; at < matrix.size(); at += models) out.push_back(matrix[at]);
  return out;
}

// Of what is known.
ColumnRange range_of(std::vector<double> x, double factor) {
  std::erase_if(x, [](double value) { return std::isnan(value); });
  if (x.empty()) return {NAN, NAN, NAN};
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  return {factor * mean, factor * *least, factor * *greatest};
}

// Squared errors of a model's qualities, of its mean and of the calibrated score.
struct SquaredErrors {
  double of_mean = 0.0, of_score = 0.0;
  double explained() const { return of_mean > 0.0 ? 1.0 - of_score / of_mean : NAN; }
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
      double known = 0.0;
      for (const std::size_t row : fold.training)
        if (const double quality = table.quality[row * models + m]; !std::isnan(quality)) {
          mean += quality;
          known += 1.0;
        }
      mean /= known;
      for (const std::size_t row : fold.held_out) {
        const double quality = table.quality[row * models + m];
        if (std::isnan(quality) || std::isnan(score.values[row * models + m])) continue;
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
    if (std::isnan(score.values[at] + table.quality[at])) continue;
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

// What the policies fitted on other rows do, by row.
struct JudgedPolicies {
  Routed single, cascade, index;
};

// In each fold the policy that was better in the others.
std::vector<double> better_of(const std::vector<double>& a, const std::vector<double>& b, const PromptGroups& groups,
                              std::size_t folds) {
  std::vector<double> lead(folds, 0.0);  // of a, by fold
  double total = 0.0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    lead[groups.of_row[row] % folds] += a[row] - b[row];
    total += a[row] - b[row];
  }
  std::vector<double> out = a;
  for (std::size_t row = 0; row < a.size(); ++row)
    if (!(total - lead[groups.of_row[row] % folds] > 0.0)) out[row] = b[row];
  return out;
}

// knows_all: else which answer to a prompt is its best is not known, and nor is the bound.
void conclude(Headroom& out, const JudgedPolicies& judged, const Outcomes& outcomes, const PromptGroups& groups,
              bool knows_all) {
  const std::size_t folds = out.fold_fits.size();
  const std::vector<std::size_t> rows = all_rows(outcomes.rows());
  const auto worth = [&](const Routed& routed) {
    CascadeWorth of_policy = worth_of(routed, judged.single, out.price, groups, 0);
    of_policy.gain = cross_fitted(of_policy.gain, folds);
    return of_policy;
  };
  out.best_single = worth(judged.single);
  out.fixed_cascade = worth(judged.cascade);
  out.index_policy = worth(judged.index);
  if (knows_all) out.bound = worth(best_answers(outcomes, out.price, rows));
  const Routed in_hindsight = evaluate(outcomes, FixedCascade{{out.fitted.single}, {}}, rows);
  out.single_in_hindsight = mean_over_prompts(in_hindsight.utility(out.price), groups);
  out.by_cascade = out.fixed_cascade.utility.value > out.index_policy.utility.value;
  const std::vector<double> better =
      better_of(judged.cascade.utility(out.price), judged.index.utility(out.price), groups, folds);
  out.routing_gain = cross_fitted(difference_over_prompts(better, judged.single.utility(out.price), groups), folds);
}

}  // namespace

std::vector<Headroom> measure_headroom(const TraceTable& table, const std::string& evaluator,
                                       const std::vector<double>& prices) {
  for (const double price : prices)
    if (!(price >= 0.0 && price <= kMostPrice))
      throw Error(
          ExitCode::usage,
          fmt::format("price {:g}: out of range; give utility per dollar, a number from 0 to 1e9, such as 5", price));
  require_content(table);
  const CalibratedEvaluator shown(table, evaluator);
  const PromptGroups groups = group_prompts(table);
  if (groups.count < 2)
    table.refuse(
        "has {} prompt{}: nothing is left to judge on what is fitted on others; give a table of "
        "at least 2 different prompts, better hundreds",
        groups.count, groups.count == 1 ? "" : "s");
  const std::size_t folds = std::min(kHeadroomFolds, groups.count);
  const Routed room = empty_rows(table.rows());
  std::vector<JudgedPolicies> judged(prices.size(), {room, room, room});
  std::vector<Headroom> out(prices.size());
  for (Headroom& headroom : out) headroom.fold_fits.resize(folds);
  const auto judge = [&](std::size_t fold) {  // folds touch different rows; the last one is the fit on all of them
    const Fold rows = fold < folds ? fold_of(groups, fold, folds) : Fold{{}, all_rows(table.rows())};
    const std::vector<double> seen = shown.seen(shown.calibrate(rows.training));
    const Outcomes outcomes = shown.outcomes(seen);
    for (std::size_t p = 0; p < prices.size(); ++p) {
      FittedPolicies& fitted = fold < folds ? out[p].fold_fits[fold] : out[p].fitted;
      fitted = {best_single_model(outcomes, prices[p], rows.training),
                fit_fixed_cascade(outcomes, prices[p], rows.training),
                fit_model_indices(outcomes, prices[p], rows.training)};
      const auto put = [&](Routed& all, const auto& policy) {
        put_rows(all, evaluate(outcomes, policy, rows.held_out), rows.held_out);
      };
      put(judged[p].single, FixedCascade{{fitted.single}, {}});
      put(judged[p].cascade, fitted.cascade);
      put(judged[p].index, fitted.index);
    }
  };
  constexpr std::size_t kWorthThreads = 100'000;  // answers; small tables are not worth threads
  in_parallel(table.quality.size() < kWorthThreads ? 1 : 0, folds + 1, judge);
  for (std::size_t p = 0; p < prices.size(); ++p) {
    out[p].price = prices[p];
    conclude(out[p], judged[p], shown.outcomes(table.quality), groups, table.known_digest.empty());
  }
  return out;
}

std::string verdict(const Headroom& headroom, const TraceTable& table, const std::string& evaluator) {
  const std::string& single = table.models[headroom.fitted.single];
  const char* const policy = headroom.by_cascade ? "the fixed cascade" : "the index policy";
  const std::string gains =
      fmt::format("{} gains {} in utility per prompt", policy, interval_text(headroom.routing_gain, 4));
  if (std::isnan(headroom.bound.gain.value))
    return fmt::format("{} at price {:g} with this evaluator ({}): {} over {}",
                       headroom.pays() ? "routing pays" : "no cascade is better", headroom.price, evaluator, gains,
                       single);
  if (headroom.pays())
    return fmt::format(
        "routing can pay up to {:.4f} in utility per prompt at price {:g}: so much is the bound above {}; {} gains {} "
        "with this evaluator ({})",
        headroom.bound.gain.value, headroom.price, single, policy, interval_text(headroom.routing_gain, 4), evaluator);
  return fmt::format(
      "no cascade is better than {} with this evaluator ({}) at price {:g}: {} gains {} in utility per prompt, and the "
      "bound is {:.4f} above",
      single, evaluator, headroom.price, policy, interval_text(headroom.routing_gain, 4), headroom.bound.gain.value);
}

double correlation(std::span<const double> all_a, std::span<const double> all_b) {
  std::vector<double> a, b;
  for (std::size_t i = 0; i < all_a.size(); ++i)
    if (!std::isnan(all_a[i] + all_b[i])) {
      a.push_back(all_a[i]);
      b.push_back(all_b[i]);
    }
  if (a.empty()) return NAN;
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
  return varies(a) && varies(b) ? ab / std::sqrt(aa * bb) : NAN;
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
