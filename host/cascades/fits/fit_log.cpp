// The cascade of thresholds that a log of decisions speaks for: searched by its importance weights, promised by what
// cascades do that were searched on other prompts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/apart.hpp"
#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/log_search.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

CascadeOptions options_of(const TraceTable& log, const CascadeFitSettings& settings, const FixedCascade& cascade,
                          const std::vector<IsotonicMap>& calibration) {
  CascadeOptions out;
  out.price = settings.aim.value;
  out.evaluator = settings.evaluator;
  std::vector<std::size_t> models = cascade.order;  // those that are not called stand last
  for (std::size_t m = 0; m < log.models.size() && settings.explore > 0.0; ++m)
    if (std::ranges::find(cascade.order, m) == cascade.order.end()) models.push_back(m);
  for (const std::size_t m : models) {
    out.models.push_back(log.models[m]);
    if (!calibration.empty()) out.calibration.push_back({calibration[m].scores, calibration[m].qualities});
  }
  out.order = all_rows(cascade.order.size());
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

// The model whose utility alone is surely the greatest: its mean less kLogCaution standard errors.
std::size_t cautious_single(const TraceTable& table, double price) {
  const std::size_t models = table.models.size();
  const PromptGroups groups = group_prompts(table);
  std::vector<double> rated;
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<double> utility;
    for (std::size_t at = m; at < table.quality.size(); at += models)
      utility.push_back(table.quality[at] - price * table.cost[at]);
    const Interval mean = mean_over_prompts(utility, groups);
    const double errors = student_factor_95(static_cast<double>(groups.count) - 1.0);  // in half an interval
    rated.push_back(mean.value - kLogCaution / errors * (mean.value - mean.low));
  }
  return static_cast<std::size_t>(std::ranges::max_element(rated) - rated.begin());
}

[[noreturn]] void refuse_few(const TraceTable& log, const LogSearch& search) {
  constexpr double kInEachFold = kLabelFolds / (kLabelFolds - 1.0);
  double most = 1.0;
  for (std::size_t m = 0; m < log.models.size(); ++m) most = std::max(most, search.effective_alone(m));
  if (most >= kLeastEffective)
    log.refuse(
        "has models whose first calls have weights (1 / propensity) of a mean that is not 1: propensities are wrong");
  log.refuse(
      "has too few decisions: {:.0f} effective ones are needed of a model alone, and here the most are {:.1f}; log about "
      "{:.0f} like these, or explore more (--explore)",
      kLeastEffective, most, rounded(kInEachFold * kLeastEffective / most * static_cast<double>(log.rows()), 2));
}

// What cascades do on the folds that they were not searched on.
struct HeldOut {
  std::vector<LoggedWalk> cascade, single, named;  // single: as each fold's search has it; named: the same for all
};

HeldOut held_out(const TraceTable& log, const CascadeFitSettings& settings, const CascadeInput& input,
                 const LogReader& reader, std::size_t named) {
  const std::size_t rows = log.rows();
  const LoggedWalk unknown{{}, true, 0, 0.0};
  HeldOut held{std::vector<LoggedWalk>(rows, unknown), std::vector<LoggedWalk>(rows, unknown), {}};
  for (std::size_t row = 0; row < rows; ++row) held.named.push_back(reader.walk_alone(row, named));
  CascadeFitSettings as_rules = settings;
  as_rules.explore = 0.0;
  for (std::size_t fold = 0; fold < kLabelFolds; ++fold) {
    std::vector<std::size_t> training;
    for (std::size_t row = 0; row < rows; ++row)
      if (reader.folds()[row] != fold) training.push_back(row);
    const LogSearch search(log, reader, settings, training);
    const FixedCascade single = search.best_single(), best = search.best();
    if (best.order.empty() || single.order.empty()) {
      if (reader.knows_running()) continue;  // of this fold nothing is said
      refuse_few(log, search);
    }
    CascadeInput used = input;
    const CascadeOptions options = options_of(log, as_rules, best, search.calibration());
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

// What a log is taken to say: the best cascade and the best single model, with which calibration, what such searches bring
// on prompts that they did not see, and what that single model brings.
struct Searched {
  FixedCascade best, alone;
  std::vector<IsotonicMap> calibration;
  MovedPolicy cascade, single, named;
  std::vector<std::string> notes;
  bool tells_cascade = true, tells_alone = true;  // whether the log can say what they bring
};

// Whether the log can say what a policy brings. Where it says what made it, that is to be kept if it cannot; else it is refused.
bool tells(const MovedPolicy& policy, const TraceTable& log, const LogReader& reader, const std::string& name,
           std::vector<std::string>& notes) {
  const std::string fault = support_fault(policy.support, log, name);
  if (!fault.empty() && !reader.knows_running()) log.refuse("{}", fault);
  if (!fault.empty()) notes.push_back(fault);
  return fault.empty();
}

Searched searched(const TraceTable& log, const CascadeFitSettings& settings, const CascadeInput& input,
                  const LogReader& reader) {
  const std::vector<std::size_t> all = all_rows(log.rows());
  const LogSearch search(log, reader, settings, all);
  Searched out;
  out.best = search.best();
  out.alone = search.best_single();
  out.calibration = search.calibration();
  if (out.best.order.empty() || out.alone.order.empty()) refuse_few(log, search);
  const HeldOut held = held_out(log, settings, input, reader, out.alone.order[0]);
  out.cascade = reader.estimate(held.cascade, true);
  out.single = reader.estimate(held.single, true);
  out.named = reader.estimate(held.named, true);
  const std::string alone = log.models[out.alone.order[0]] + " alone";
  out.tells_cascade = tells(out.cascade, log, reader, "the cascades that were searched on other prompts", out.notes);
  out.tells_alone = tells(out.single, log, reader, "the single models that were chosen on other prompts", out.notes) &&
                    tells(out.named, log, reader, alone, out.notes);
  std::vector<std::string> few;
  for (std::size_t m = 0; m < log.models.size(); ++m)
    if (const double effective = search.effective_alone(m); effective < kLeastEffective)
      few.push_back(fmt::format("{} ({:.1f})", log.models[m], effective));
  if (!few.empty())
    out.notes.push_back(fmt::format("of the models alone {} is the surest; too few effective decisions tell of {}",
                                    log.models[out.alone.order[0]], fmt::join(few, ", ")));
  const std::vector<std::string> faults = faults_of_first_calls(log);
  for (std::size_t m = 0; m < faults.size(); ++m)
    if (settings.openings == Openings::in_order && !faults[m].empty() && search.effective_alone(m) >= kLeastEffective)
      out.notes.push_back(faults[m]);
  if (!has_second_calls(log))
    out.notes.emplace_back(
        "every decision made one call, which tells nothing of a second one: see --openings apart, or --kind router with a "
        "context");
  out.notes.push_back(fmt::format(
      "fitted to a log by importance weights, of {} models at the most; promised by doubly robust estimates of "
      "cascades that were searched on other prompts, from {:.0f} effective prompts",
      LogSearch::kLongest, out.cascade.support.effective_prompts));
  return out;
}

Searched searched_apart(const TraceTable& log, const CascadeFitSettings& settings, const LogReader& reader) {
  std::optional<FitApart> found = fit_log_apart(log, settings, reader);
  if (!found)
    log.refuse(
        "has too few decisions: no model was called often enough in every fold; log more, or explore more (--explore)");
  Searched out{std::move(found->best),
               std::move(found->alone),
               std::move(found->calibration),
               std::move(found->cascade),
               std::move(found->single),
               std::move(found->named),
               {kApartNote}};
  if (has_second_calls(log))
    out.notes.emplace_back(
        "decisions made several calls, which tell how models' answers hang together: --openings in_order or independent looks "
        "at that");
  out.notes.emplace_back(
      "fitted to what a log says of each model by itself; promised by cascades that were searched on other prompts");
  if (!found->left_out.empty())
    out.notes.push_back(fmt::format("called too seldom, and left out: {}", fmt::join(found->left_out, ", ")));
  return out;
}

// Of two intervals the one that promises less.
const Interval& lower(const Interval& a, const Interval& b) {
  return a.low < b.low ? a : b;
}

// Cascade or single model: the cascade where it is sure to be better, or is the surer one to be better than what made the log.
CascadeChoice chosen(const Searched& found, const Interval& gain, const std::array<Interval, 2>& over_running) {
  CascadeChoice out;
  for (const CascadeKind kind : {CascadeKind::single, CascadeKind::thresholds})
    out.picked[static_cast<std::size_t>(kind)].emplace();
  out.gain = gain;
  const bool surer = over_running[1].low > over_running[0].low && !(gain.value <= 0.0);
  const bool alone_is_worse = over_running[0].high < 0.0 && !(over_running[1].high < 0.0);
  out.pays = found.best.order.size() > 1 && (gain.low > 0.0 || surer || alone_is_worse || !found.tells_alone);
  out.kind = out.pays ? CascadeKind::thresholds : CascadeKind::single;
  return out;
}

CascadeFit fit_of(const TraceTable& log, const CascadeFitSettings& settings, const LogReader& reader,
                  const Searched& found) {
  CascadeFit fit;
  fit.settings = settings.only(CascadeKind::thresholds);
  fit.table = log.source;
  fit.digest = content_digest(log);
  fit.rows = log.rows();
  fit.prompts = reader.groups().count;
  fit.models = log.models;
  fit.price = settings.aim.value;
  fit.single_model = log.models[found.alone.order[0]];
  fit.single = CascadeWorth::unknown();
  if (found.tells_alone) {
    // What this model brings, but no more than is sure of the models that searches without a fold chose.
    fit.single = widened(worth_of(found.named, found.named, fit.price));
    const CascadeWorth of_folds = widened(worth_of(found.single, found.single, fit.price));
    fit.single.utility.low = std::min(fit.single.utility.low, of_folds.utility.low);
    fit.single.quality.low = std::min(fit.single.quality.low, of_folds.quality.low);
  }
  CascadeWorth of_cascade =
      found.tells_cascade ? widened(worth_of(found.cascade, found.named, fit.price)) : CascadeWorth::unknown();
  if (!found.tells_alone) of_cascade.gain = of_cascade.saving = {NAN, NAN, NAN};
  fit.kinds = {{CascadeKind::thresholds, of_cascade}};
  std::array<Interval, 2> over_running = {Interval{NAN, NAN, NAN}, Interval{NAN, NAN, NAN}};  // of a model, the cascade
  if (reader.knows_running()) {
    const MovedPolicy running = reader.estimate_running();
    const auto gain = [&](const MovedPolicy& own) { return widened(worth_of(own, running, fit.price)).gain; };
    fit.running = worth_of(running, running, fit.price);
    if (found.tells_alone) over_running[0] = lower(gain(found.named), gain(found.single));
    if (found.tells_cascade) over_running[1] = gain(found.cascade);
  }
  CascadeChoice& choice = fit.choice = chosen(found, of_cascade.gain, over_running);
  if (fit.running) fit.running->gain = over_running[choice.pays ? 1 : 0];
  fit.promise = choice.pays ? of_cascade : fit.single;
  require_possible(fit.promise.quality, log,
                   choice.pays ? "the cascades that were searched" : fit.single_model + " alone");
  if (const double dearer = fit.price * of_cascade.calls.value; choice.pays && dearer > 0.0 && !fit.keeps_running())
    fit.break_even_judge = of_cascade.gain.value / dearer;
  fit.notes = log.notes;
  fit.notes.insert(fit.notes.end(), found.notes.begin(), found.notes.end());
  if (!settings.context.empty())
    fit.notes.emplace_back(
        "context: not used; thresholds of a log are the same for every prompt (--kind router uses it)");
  CascadeOptions options = options_of(log, settings, choice.pays ? found.best : found.alone, found.calibration);
  fit.verdict = fit_verdict(fit, options) + "; " +
                eyes_text(settings.evaluator, settings.judge_usd, fit.break_even_judge) +
                assumed_text(settings.openings);
  options.about = fit_record(fit).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  fit.cascade = std::make_shared<Cascade>(options);
  return fit;
}

CascadeFit fit_router_to_log(const TraceTable& log, const CascadeFitSettings& settings) {
  const TraceTable table = with_estimated_first_calls(log, settings.evaluator);
  CascadeFitSettings of_first_calls = settings.only(CascadeKind::router);
  of_first_calls.evaluator = kNoEvaluator;
  of_first_calls.as_asked = false;
  of_first_calls.caution = kLogCaution;
  of_first_calls.single = cautious_single(table, settings.aim.value);
  CascadeInput input;
  input.table = &log;
  input.evaluator = settings.evaluator;
  input.judge_usd = settings.judge();
  if (const LogReader reader({}, input, Estimator::dr, Openings::in_order); reader.knows_running()) {
    const MovedPolicy running = reader.estimate_running();
    of_first_calls.running = worth_of(running, running, settings.aim.value);
  }
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
  return settings.openings == Openings::apart ? fit_of(log, settings, reader, searched_apart(log, settings, reader))
                                              : fit_of(log, settings, reader, searched(log, settings, input, reader));
}

}  // namespace pandora
