// The cascade of thresholds that a log of decisions speaks for: searched by its importance weights, promised by what
// cascades do that were searched on other prompts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/log_reader.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr double kCaution = 2.0;  // standard errors
constexpr std::size_t kMostThresholds = 24, kLongest = 3;

// Sums over decisions, of weights w, of w times the utility y, and of the weights l of those whose deployed answer's quality
// is known.
struct WeightedSums {
  double w = 0.0, wy = 0.0, ww = 0.0, wwy = 0.0, wwyy = 0.0, l = 0.0, ll = 0.0;

  static WeightedSums of(double weight, double y, double known) {
    const double l = weight * known;
    return {weight, weight * y, weight * weight, weight * weight * y, weight * weight * y * y, l, l * l};
  }
  WeightedSums& operator+=(const WeightedSums& o) {
    w += o.w, wy += o.wy, ww += o.ww, wwy += o.wwy, wwyy += o.wwyy, l += o.l, ll += o.ll;
    return *this;
  }
  WeightedSums minus(const WeightedSums& o) const {
    return {w - o.w, wy - o.wy, ww - o.ww, wwy - o.wwy, wwyy - o.wwyy, l - o.l, ll - o.ll};
  }
  double mean() const { return wy / w; }
  double effective() const { return std::min(w * w / ww, ll > 0.0 ? l * l / ll : 0.0); }
  double error() const { return std::sqrt(std::max(0.0, wwyy - 2.0 * mean() * wwy + mean() * mean() * ww)) / w; }
  /// What is maximised: of many candidates the greatest mean flatters those of few decisions (Swaminathan and Joachims
  /// 2015).
  double cautious(double decisions) const {
    const double mean_weight = w / decisions,
                 spread = std::sqrt(std::max(0.0, ww / decisions - mean_weight * mean_weight) / decisions);
    if (std::abs(mean_weight - 1.0) > 3.0 * spread + 1e-9) return -HUGE_VAL;  // makes calls that the log never makes
    return effective() < kLeastEffective ? -HUGE_VAL : mean() - kCaution * error();
  }
};

struct RatedCascade {
  FixedCascade cascade;
  double rating = -HUGE_VAL;
};

// The search on some rows.
class LogSearch {
 public:
  LogSearch(const TraceTable& log, const LogReader& reader, const CascadeFitSettings& settings,
            const std::vector<std::size_t>& rows)
      : log_(log), reader_(reader), settings_(settings), rows_(rows), models_(log.models.size()) {
    const CalibratedEvaluator evaluator(log, settings.evaluator);
    seen_.assign(evaluator.shown().begin(), evaluator.shown().end());
    for (std::size_t m = 0; m < models_; ++m) {
      if (!evaluator.is_truth()) calibrate(m);
      std::vector<double> seen;
      for (const std::size_t row : rows)
        if (const double value = seen_[row * models_ + m]; !std::isnan(value)) seen.push_back(value);
      thresholds_.push_back(thresholds_of(std::move(seen)));
    }
  }

  const std::vector<IsotonicMap>& calibration() const { return calibration_; }

  FixedCascade best_single() const {
    RatedCascade best;
    for (std::size_t m = 0; m < models_; ++m) rate({m}, best);
    return best.cascade;
  }
  FixedCascade best() const {
    RatedCascade best;
    std::vector<std::size_t> order;
    extend(order, best);
    return best.cascade;
  }

 private:
  void calibrate(std::size_t m) {
    std::vector<double> scores, qualities, weights;
    for (const std::size_t row : rows_) {
      const std::size_t at = row * models_ + m;
      if (std::isnan(seen_[at] + log_.quality[at])) continue;
      scores.push_back(seen_[at]);
      qualities.push_back(log_.quality[at]);
      weights.push_back(reader_.label_weight(at));
    }
    calibration_.push_back(IsotonicMap::fit(scores, qualities, weights));
    for (const std::size_t row : rows_)
      if (double& score = seen_[row * models_ + m]; !std::isnan(score)) score = calibration_[m](score);
  }

  // Readable ones that accept some answers and not all, about equally many between two of them.
  static std::vector<double> thresholds_of(std::vector<double> seen) {
    std::sort(seen.begin(), seen.end());
    std::vector<double> out;
    for (std::size_t k = 1; k <= kMostThresholds && !seen.empty(); ++k) {
      const double value = std::round(100.0 * seen[k * (seen.size() - 1) / kMostThresholds]) / 100.0;
      if (value > seen.front() && (out.empty() || value > out.back())) out.push_back(value);
    }
    return out;
  }

  void extend(std::vector<std::size_t>& order, RatedCascade& best) const {
    if (!order.empty()) rate(order, best);
    for (std::size_t m = 0; m < models_ && order.size() < kLongest; ++m) {
      if (std::find(order.begin(), order.end(), m) != order.end() ||
          (!order.empty() && thresholds_[order.back()].empty()))
        continue;
      order.push_back(m);
      extend(order, best);
      order.pop_back();
    }
  }

  std::size_t accepting(std::size_t at) const {  // how many thresholds the answer reaches
    const std::vector<double>& of = thresholds_[at % models_];
    return static_cast<std::size_t>(std::upper_bound(of.begin(), of.end(), seen_[at]) - of.begin());
  }

  // All thresholds of an order at once: a decision adds to rectangles of them, by their corners.
  void rate(const std::vector<std::size_t>& order, RatedCascade& best) const {
    const std::size_t n = order.size(), I = n > 1 ? thresholds_[order[0]].size() : 1,
                      J = n > 2 ? thresholds_[order[1]].size() : 1;
    std::vector<WeightedSums> sums((I + 1) * (J + 1));
    const auto add = [&](std::size_t i0, std::size_t i1, std::size_t j0, std::size_t j1, double weight, double y,
                         double known) {
      if (i0 >= i1 || j0 >= j1 || weight == 0.0) return;
      const WeightedSums one = WeightedSums::of(weight, y, known);
      const auto corner = [&](std::size_t i, std::size_t j) -> WeightedSums& { return sums[i * (J + 1) + j]; };
      corner(i0, j0) += one;
      corner(i1, j0) = corner(i1, j0).minus(one);
      corner(i0, j1) = corner(i0, j1).minus(one);
      corner(i1, j1) += one;
    };
    for (const std::size_t row : rows_) {
      double weight = 1.0, spent = 0.0, most = -HUGE_VAL, worth = 0.0, known = 0.0;
      std::size_t from = 0;  // the first threshold of the first model that the answer does not reach
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t at = row * models_ + order[k];
        weight *= reader_.ratio(at, k);
        if (weight == 0.0) break;
        spent += log_.cost[at] + (n > 1 ? settings_.judge() : 0.0);
        if (seen_[at] > most) {
          most = seen_[at];
          worth = reader_.estimated_quality(at);
          known = reader_.known_weight(at);
        }
        const double y = worth - settings_.aim.value * spent;
        if (k + 1 == n) {
          const std::size_t second = n > 2 ? accepting(row * models_ + order[1]) : 0;
          add(from, I, second, J, weight, y, known);
        } else if (k == 0) {
          from = accepting(at);
          add(0, from, 0, J, weight, y, known);
        } else {
          add(from, I, 0, accepting(at), weight, y, known);
        }
      }
    }
    pick(order, I, J, sums, best);
  }

  void pick(const std::vector<std::size_t>& order, std::size_t I, std::size_t J, std::vector<WeightedSums>& sums,
            RatedCascade& best) const {
    const double decisions = static_cast<double>(rows_.size());
    for (std::size_t i = 0; i < I; ++i)
      for (std::size_t j = 0; j < J; ++j) {
        WeightedSums& here = sums[i * (J + 1) + j];
        if (i > 0) here += sums[(i - 1) * (J + 1) + j];
        if (j > 0) here += sums[i * (J + 1) + j - 1];
        if (i > 0 && j > 0) here = here.minus(sums[(i - 1) * (J + 1) + j - 1]);
        if (!(here.w > 0.0) || !(here.cautious(decisions) > best.rating)) continue;
        best = {{order, {}}, here.cautious(decisions)};
        if (order.size() > 1) best.cascade.thresholds.push_back(thresholds_[order[0]][i]);
        if (order.size() > 2) best.cascade.thresholds.push_back(thresholds_[order[1]][j]);
      }
  }

  const TraceTable& log_;
  const LogReader& reader_;
  const CascadeFitSettings& settings_;
  const std::vector<std::size_t>& rows_;
  const std::size_t models_;
  std::vector<double> seen_;  // of each answer: what is shown of it, calibrated
  std::vector<IsotonicMap> calibration_;
  std::vector<std::vector<double>> thresholds_;  // of each model
};

CascadeOptions options_of(const TraceTable& log, const CascadeFitSettings& settings, const FixedCascade& cascade,
                          const std::vector<IsotonicMap>& calibration) {
  CascadeOptions out;
  out.price = settings.aim.value;
  out.evaluator = settings.evaluator;
  for (std::size_t k = 0; k < cascade.order.size(); ++k) {
    out.models.push_back(log.models[cascade.order[k]]);
    out.order.push_back(k);
    if (const std::size_t m = cascade.order[k]; !calibration.empty())
      out.calibration.push_back({calibration[m].scores, calibration[m].qualities});
  }
  out.thresholds = cascade.thresholds;
  return out;
}

Interval widened(const Interval& interval) {
  return cross_fitted(interval, kCascadeFolds);
}

CascadeWorth widened(const CascadeWorth& worth) {
  return {widened(worth.quality), widened(worth.usd_per_1000), widened(worth.calls),
          widened(worth.utility), widened(worth.gain),         widened(worth.saving)};
}

// The model whose utility alone is surely the greatest: its mean less kCaution standard errors.
std::size_t cautious_single(const TraceTable& table, double price) {
  const std::size_t models = table.models.size();
  const PromptGroups groups = group_prompts(table);
  std::vector<double> rated;
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<double> utility;
    for (std::size_t at = m; at < table.quality.size(); at += models)
      utility.push_back(table.quality[at] - price * table.cost[at]);
    const Interval mean = mean_over_prompts(utility, groups);
    rated.push_back(mean.value - kCaution / 1.96 * (mean.value - mean.low));
  }
  return static_cast<std::size_t>(std::ranges::max_element(rated) - rated.begin());
}

[[noreturn]] void refuse_few(const TraceTable& log) {
  log.refuse(
      "has too few decisions: no model alone has {:.0f} effective ones in every fold; log more, or explore more (--explore)",
      kLeastEffective);
}

// What cascades do on the folds that they were not searched on.
struct HeldOut {
  std::vector<LoggedWalk> cascade, single;
};

HeldOut held_out(const TraceTable& log, const CascadeFitSettings& settings, const CascadeInput& input,
                 const LogReader& reader) {
  const std::size_t rows = log.rows();
  HeldOut held{std::vector<LoggedWalk>(rows), std::vector<LoggedWalk>(rows)};
  for (std::size_t fold = 0; fold < kLabelFolds; ++fold) {
    std::vector<std::size_t> training;
    for (std::size_t row = 0; row < rows; ++row)
      if (reader.folds()[row] != fold) training.push_back(row);
    const LogSearch search(log, reader, settings, training);
    const FixedCascade single = search.best_single(), best = search.best();
    if (best.order.empty() || single.order.empty()) refuse_few(log);
    CascadeInput used = input;
    const CascadeOptions options = options_of(log, settings, best, search.calibration());
    used.columns = best.order;
    const LogReader own(options, used, Estimator::dr, settings.openings);
    Cascade cascade(options);
    cascade.set_learning(false);
    for (std::size_t row = 0; row < rows; ++row) {
      if (reader.folds()[row] != fold) continue;
      held.cascade[row] = own.walk(cascade, row);
      if (best.order.size() == 1) held.cascade[row].judge_usd = 0.0;
      held.single[row] = reader.walk_alone(row, single.order[0]);
    }
  }
  return held;
}

CascadeFit fit_router_to_log(const TraceTable& log, const CascadeFitSettings& settings) {
  const TraceTable table = with_estimated_first_calls(log, settings.evaluator);
  CascadeFitSettings of_first_calls = settings.only(CascadeKind::router);
  of_first_calls.evaluator = kNoEvaluator;
  of_first_calls.as_asked = false;
  of_first_calls.caution = kCaution;
  of_first_calls.single = cautious_single(table, settings.aim.value);
  return fit_cascade(table, of_first_calls);
}

}  // namespace

CascadeFit fit_cascade_to_log(const TraceTable& log, const CascadeFitSettings& settings) {
  require_sound(settings);
  if (!settings.aim.is_bound() && !settings.tries(CascadeKind::thresholds) && settings.tries(CascadeKind::router))
    return fit_router_to_log(log, settings);
  if (settings.aim.is_bound() || !settings.tries(CascadeKind::thresholds))
    throw Error(
        ExitCode::usage,
        "a log is fitted at a price, by thresholds or a router; give --price, and --kind thresholds, router (with "
        "--context) or auto");
  const CalibratedEvaluator known(log, settings.evaluator);
  CascadeInput input;
  input.table = &log;
  input.columns = all_rows(log.models.size());
  input.evaluator = settings.evaluator;
  input.shown = known.shown();
  input.judge_usd = settings.judge();
  const LogReader reader({}, input, Estimator::dr, settings.openings);
  const HeldOut held = held_out(log, settings, input, reader);
  const MovedPolicy cascade = reader.estimate(held.cascade), single = reader.estimate(held.single);
  require_support(cascade.support, log, "a cascade");
  require_support(single.support, log, "the best single model");
  const std::vector<std::size_t> all = all_rows(log.rows());
  const LogSearch search(log, reader, settings, all);
  const FixedCascade best = search.best(), alone = search.best_single();
  if (best.order.empty() || alone.order.empty()) refuse_few(log);
  CascadeFit fit;
  fit.settings = settings.only(CascadeKind::thresholds);
  fit.table = log.source;
  fit.digest = content_digest(log);
  fit.rows = log.rows();
  fit.prompts = reader.groups().count;
  fit.models = log.models;
  fit.price = settings.aim.value;
  fit.single_model = log.models[alone.order[0]];
  fit.single = widened(worth_of(single, single, fit.price));
  const CascadeWorth of_cascade = widened(worth_of(cascade, single, fit.price));
  fit.kinds = {{CascadeKind::thresholds, of_cascade}};
  CascadeChoice& choice = fit.choice;
  for (const CascadeKind kind : {CascadeKind::single, CascadeKind::thresholds})
    choice.picked[static_cast<std::size_t>(kind)].emplace();
  choice.gain = of_cascade.gain;
  choice.pays = best.order.size() > 1 && of_cascade.gain.low > 0.0;
  choice.kind = choice.pays ? CascadeKind::thresholds : CascadeKind::single;
  fit.promise = choice.pays ? of_cascade : fit.single;
  fit.notes = log.notes;
  fit.notes.push_back(fmt::format(
      "fitted to a log by importance weights, of {} models at the most; promised by doubly robust estimates of "
      "cascades that were searched on other prompts, from {:.0f} effective prompts",
      kLongest, cascade.support.effective_prompts));
  CascadeOptions options = options_of(log, settings, choice.pays ? best : alone, search.calibration());
  fit.verdict = fit_verdict(fit, options) + "; " + eyes_text(settings.evaluator, settings.judge_usd, 0.0);
  options.about = fit_record(fit).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  fit.cascade = std::make_shared<Cascade>(options);
  return fit;
}

}  // namespace pandora
