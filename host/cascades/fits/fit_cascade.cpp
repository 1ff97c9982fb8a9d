#include "host/cascades/fits/fit_cascade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "host/cascades/fits/fitted_indices.hpp"
#include "host/cascades/fits/logged_worth.hpp"
#include "host/cascades/fits/trace_check.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {
namespace {

std::vector<CascadeCandidate> candidates_of(const TraceTable& table, const CascadeFitSettings& settings,
                                            const PreparedFolds& folds) {
  if (settings.aim.is_bound()) return candidates_by_bound(table, settings, folds);
  std::vector<CascadeCandidate> out;
  for (std::size_t m = 0; m < table.models.size(); ++m)
    if (settings.single.value_or(m) == m) out.push_back({CascadeKind::single, settings.aim.value, m});
  for (const CascadeKind kind : kinds_tried(settings)) out.push_back({kind, settings.aim.value});
  // On other prompts calls take longer by chance.
  if (settings.aim.most_latency && settings.tries(CascadeKind::thresholds))
    for (const double part : {1.0, 0.97, 0.9})
      out.push_back({CascadeKind::thresholds, settings.aim.value, 0, part * *settings.aim.most_latency});
  return out;
}

constexpr std::size_t kCircumstances = 4;  // at the most: prices and judges

// The kind that was chosen among the cascades and the best single model, at a price, both on other prompts.
struct Refit {
  PromptGroups groups;
  Routed cascade, single;

  Refit(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& folds, CascadeKind kind,
        double price) {
    CascadeFitSettings plain = settings.only(kind);
    plain.aim.most_latency.reset();  // what other fits are worth is said, however long they take
    JudgedCandidates judged = cross_validate(table, plain, folds, {{kind, price}}, false).all;
    groups = std::move(judged.groups);
    cascade = std::move(judged.routed[0]);
    const auto best = [&](std::size_t fold) {
      const auto prepared = folds.without(fold, fold);
      const std::vector<double>& quality = prepared->quality.empty() ? table.quality : prepared->quality;
      const Outcomes outcomes{table.models.size(), quality, quality, table.cost};
      return evaluate(outcomes, FixedCascade{{best_single_model(outcomes, price, prepared->rows)}, {}},
                      all_rows(table.rows()));
    };
    std::vector<Routed> by_fold;
    for (std::size_t f = 0; f < kCascadeFolds; ++f) by_fold.emplace_back(best(f));
    single = on_other_prompts(best(kCascadeFolds), by_fold, groups, settings.out_of_fold(kind));
  }
  CascadeWorth worth(double price) const { return worth_of(cascade, single, price, groups, kCascadeFolds); }
};

// `judged`: its cascade, row by row, fitted on other prompts.
void add_without(CascadeFit& fit, const TraceTable& table, const PreparedFolds& folds, const Routed& judged) {
  if (!fit.settings.other_fits || table.models.size() == 1 || fit.choice.kind == CascadeKind::single) return;
  for (const ModelShare& share : fit.shares) {
    std::vector<std::string> others;
    std::vector<std::size_t> which;
    for (std::size_t m = 0; m < fit.models.size(); ++m) {
      if (fit.models[m] == share.model) continue;
      others.push_back(fit.models[m]);
      which.push_back(m);
    }
    const TraceTable some = select_models(table, others);
    const Refit refit(some, fit.settings, PreparedFolds(folds, some, which), fit.choice.kind, fit.price);
    const Interval change =
        difference_over_prompts(refit.cascade.utility(fit.price), judged.utility(fit.price), refit.groups);
    fit.without.push_back({"without " + share.model, refit.worth(fit.price), cross_fitted(change, kCascadeFolds)});
  }
}

// Judging costs as much for each judged call, so the claim goes down in a line: a gain in utility by the price, a
// saving by the dollars themselves, what is left under a bound on dollars likewise.
double break_even_judge(const CascadeFit& fit) {
  const CascadeChoice& choice = fit.choice;
  if (!choice.pays || !choice.chosen().met || !(choice.judged_calls > 0.0)) return 0.0;
  const CascadeAim& aim = fit.settings.aim;
  if (aim.is_on_dollars()) return (aim.value - choice.chosen().bound) / choice.judged_calls;
  if (aim.is_bound()) return choice.single().met ? choice.gain.value / 1000.0 / choice.judged_calls : 0.0;
  return fit.price > 0.0 ? choice.gain.value / (fit.price * choice.judged_calls) : 0.0;
}

void add_elsewhere(CascadeFit& fit, const TraceTable& table, const PreparedFolds& folds) {
  if (!fit.settings.other_fits || !(fit.price > 0.0)) return;
  const auto add = [&](const std::string& what, const CascadeFitSettings& settings, double price) {
    fit.elsewhere.push_back({what, Refit(table, settings, folds, fit.choice.cascade, price).worth(price)});
  };
  for (const double price : {fit.price / 2.0, 2.0 * fit.price})
    add(fmt::format("price {:g}", price), fit.settings, price);
  // Under a bound the model that a cascade is held against is not the best one at the price.
  if (fit.settings.aim.is_bound() || !(fit.break_even_judge > 0.0)) return;
  for (const double share : {0.25, 0.5}) {
    CascadeFitSettings settings = fit.settings;
    settings.judge_usd = settings.judge() + share * fit.break_even_judge;
    add(fmt::format("a judge at ${:.2g}", *settings.judge_usd), settings, fit.price);
  }
}

// Of two that are not paired.
Interval unpaired_difference(const Interval& a, const Interval& b) {
  const double value = a.value - b.value;
  return {value, value - std::hypot(a.value - a.low, b.high - b.value),
          value + std::hypot(a.high - a.value, b.value - b.low)};
}

// Decides, and promises of what is decided.
void report(CascadeFit& fit, const CrossValidated& judged, const NestedChoice& nested) {
  const PromptGroups& groups = judged.all.groups;
  CascadeChoice& choice = fit.choice;
  const auto of = [&](const PickedCandidate& picked, const std::vector<Routed>& by_fold) {
    return on_other_prompts(judged.whole[picked.candidate], by_fold, groups, fit.settings.out_of_fold(choice.cascade));
  };
  Routed single = of(choice.single(), nested.single);
  const auto gain = [&](const Routed& routed) {
    const auto in_worth = [&](const Routed& x) { return worth_by_row(x, fit.settings.aim, fit.price); };
    return cross_fitted(difference_over_prompts(in_worth(routed), in_worth(single), groups), kCascadeFolds);
  };
  choice.gain = gain(of(choice.best_of(choice.cascade), nested.cascade));
  decide(choice, fit.settings.aim);
  if (fit.settings.as_asked) choice.kind = choice.cascade;
  if (choice.kind == CascadeKind::thresholds && judged.whole_orders[choice.chosen().candidate].order.size() == 1) {
    choice.kind = CascadeKind::single;
    choice.pays = false;
  }
  const bool alone = choice.kind == CascadeKind::single;
  const Routed kept = alone && fit.settings.out_of_fold(choice.cascade) ? single : of(choice.chosen(), nested.kept);
  if (alone)
    single = kept;
  else
    choice.gain = gain(kept);
  const auto worth = [&](const Routed& routed) { return worth_of(routed, single, fit.price, groups, kCascadeFolds); };
  fit.single = worth(single);
  fit.promise = worth(kept);
  fit.running = fit.settings.running;
  if (fit.running) fit.running->gain = unpaired_difference(fit.promise.utility, fit.running->utility);
  if (choice.kind != CascadeKind::single) choice.judged_calls = fit.promise.calls.value;
  fit.tail = dollar_tail(judged.whole[choice.chosen().candidate].dollars, groups);
  for (const CascadeKind kind : kCascadeKinds)
    if (const auto& picked = choice.picked[static_cast<std::size_t>(kind)]; picked && kind != CascadeKind::single)
      fit.kinds.emplace_back(kind, worth(judged.all.routed[picked->candidate]));
  if (choice.cascade != CascadeKind::thresholds) return;
  for (std::size_t m = 0; m < fit.models.size(); ++m) {
    const auto calls = [&](const std::vector<FixedCascade>& orders) {
      const std::vector<std::size_t>& order = orders[choice.best_of(CascadeKind::thresholds).candidate].order;
      return std::find(order.begin(), order.end(), m) != order.end();
    };
    if (std::none_of(judged.orders.begin(), judged.orders.end(), calls)) fit.never.push_back(fit.models[m]);
  }
}

// Under a bound on latency, of what could be deployed and what is.
void require_in_time(CascadeFit& fit, const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged) {
  const std::optional<double> most = fit.settings.aim.most_latency;
  if (!most) return;
  fit.latency = judged.latency[fit.choice.chosen().candidate];
  if (fit.choice.chosen().in_time) return;
  double least = HUGE_VAL;
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (!fit.settings.as_asked || candidates[c].kind == fit.choice.kind) least = std::min(least, judged.latency[c]);
  throw Error(ExitCode::usage,
              fmt::format("--max-latency {:g}: no cascade keeps it; the least 95th per cent of the latency of calls in "
                          "series that was found is {:.4g} seconds; give at least that, {}or faster models",
                          *most, std::ceil(least * 1e4) / 1e4, fit.settings.as_asked ? "another --kind " : ""));
}

// Which of what is compared the bound on latency leaves out, or does not bind.
void note_latency(CascadeFit& fit, const JudgedCandidates& judged) {
  const std::optional<double> most = fit.settings.aim.most_latency;
  if (!most) return;
  for (const CascadeKind kind : kCascadeKinds)
    if (const auto& picked = fit.choice.picked[static_cast<std::size_t>(kind)]; picked && !picked->in_time)
      fit.notes.push_back(
          fmt::format("{}: not deployed; calls in series take {:.4g} seconds at the 95th per cent, more than {:g}",
                      kind_text(kind), judged.latency[picked->candidate], *most));
  if (!fit.without.empty() || !fit.elsewhere.empty())
    fit.notes.emplace_back(
        "what is said of fits without a model and under other circumstances is without the bound on latency");
}

std::string latency_text(const CascadeFit& fit) {
  if (!fit.settings.aim.most_latency) return "";
  return fmt::format("; calls in series take at most {:.4g} seconds for 95% of the prompts", fit.latency);
}

// Over the table that was fitted on: how much of the traffic each model gets hardly depends on the fit.
void count_shares(CascadeFit& fit, const TraceTable& table, const TrainedTable& trained,
                  const CascadeOptions& options) {
  const std::vector<std::size_t> all = all_rows(table.rows());
  ModelCounts counts;
  if (options.rules) {
    FittedIndices indices = trained.fit_indices(fit.price);
    (void)trained.route(indices, all, &counts);
  } else {
    Cascade cascade = trained.cascade_of(options);
    (void)run_prompts(cascade, cascade_input(options, table, fit.settings.judge()), all, &counts);
  }
  const double rows = static_cast<double>(table.rows());
  for (std::size_t m = 0; m < options.models.size(); ++m) {
    fit.shares.push_back({options.models[m], static_cast<double>(counts.called[m]) / rows,
                          static_cast<double>(counts.deployed[m]) / rows});
    if (options.rules && counts.called[m] == 0) fit.never.push_back(options.models[m]);
  }
  for (const std::string& model : fit.models)
    if (!options.plans.empty() && std::ranges::find(options.models, model) == options.models.end())
      fit.never.push_back(model);
  const double calls =
      static_cast<double>(std::accumulate(counts.called.begin(), counts.called.end(), std::uint64_t{0}));
  fit.choice.judged_calls *= static_cast<double>(counts.judged) / calls;
}

void note_what_is_left_out(CascadeFit& fit, const TraceTable& table, const JudgedCandidates& judged) {
  if (!table.known_digest.empty())  // qualities are estimated
    fit.notes = table.notes;
  else if (table.dropped > 0)
    fit.notes.push_back(table.notes.back());
  note_latency(fit, judged);
  if (fit.choice.kind == CascadeKind::single && fit.settings.indices)
    fit.notes.push_back(
        "one model alone learns nothing while it runs; `pandora cascade new` makes a cascade that learns from nothing");
  const std::vector<std::string>& context = fit.settings.context;
  if (context.empty()) return;
  if (fit.choice.kind == CascadeKind::single || fit.choice.kind == CascadeKind::thresholds)
    fit.notes.push_back(fmt::format("context: not used; {} the same for every prompt",
                                    fit.choice.kind == CascadeKind::single ? "one model alone is" : "thresholds are"));
  if (!table.known_digest.empty()) return;  // which answer is best, single estimates do not say
  for (std::string& leak : suspected_leaks(table, context, fit.price)) fit.notes.push_back(std::move(leak));
}

// Of a table that has a quality in every cell. `estimates`: which these are of, where they are estimated.
CascadeFit fit_filled(const TraceTable& table, const CascadeFitSettings& asked, const QualityEstimates* estimates) {
  require_sound(asked);
  CascadeFitSettings settings = asked;
  settings.estimated = estimates != nullptr;
  require_content(table);
  const CalibratedEvaluator known(table, settings.shown());
  require_binding(settings, table);
  require_few_models(table, settings.aim.is_bound() ? 0.0 : settings.aim.value, "fitted");
  // Those of pairs of folds and of all rows, and of the folds without each model and under other circumstances.
  if (settings.progress)
    settings.progress->expect(1 + kCascadeFolds * (kCascadeFolds + 1) / 2 +
                              (table.models.size() + kCircumstances) * (kCascadeFolds + 1));
  const PreparedFolds folds(table, settings, kCascadeFolds, estimates);
  const std::vector<CascadeCandidate> candidates = candidates_of(table, settings, folds);
  const CrossValidated judged = cross_validate(table, settings, folds, candidates, true);
  const NestedChoice nested = choose_nested(candidates, judged, settings);
  CascadeFit fit;
  fit.settings = settings;
  fit.table = table.source;
  fit.digest = content_digest(table);
  fit.rows = table.rows();
  fit.prompts = judged.all.groups.count;
  fit.models = table.models;
  const CascadeChoice& choice = fit.choice = nested.choice;
  fit.price = candidates[choice.best_of(choice.cascade).candidate].price;
  fit.single_model = table.models[candidates[choice.single().candidate].model];
  report(fit, judged, nested);
  require_in_time(fit, candidates, judged.all);
  const TrainedTable trained(table, settings, folds.without(kCascadeFolds, kCascadeFolds));
  CascadeOptions options = choice.kind == CascadeKind::single || choice.kind == CascadeKind::thresholds
                               ? trained.options_of(judged.whole_orders[choice.chosen().candidate], fit.price)
                               : trained.fit_options({choice.kind, fit.price});
  count_shares(fit, table, trained, options);
  add_without(fit, table, folds, judged.all.routed[choice.best_of(choice.cascade).candidate]);
  fit.break_even_judge = break_even_judge(fit);
  add_elsewhere(fit, table, folds);
  note_what_is_left_out(fit, table, judged.all);
  const bool judged_none = choice.kind != CascadeKind::single && choice.judged_calls == 0.0;
  fit.verdict = fit_verdict(fit, options) + latency_text(fit) + "; " +
                (judged_none ? "no answer is judged"
                             : eyes_text(settings.evaluator, settings.judge_usd, fit.break_even_judge,
                                         settings.aim.is_on_dollars() ? "room under the bound" : "gain"));
  if (options.rules) {
    options.rules->c_rho = settings.width;
    options.estimation.forgetting.half_life = settings.forget;
  }
  options.about = fit_record(fit).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  fit.cascade = std::make_shared<Cascade>(trained.cascade_of(options));
  return fit;
}

}  // namespace

CascadeFit fit_cascade(const TraceTable& table, const CascadeFitSettings& settings) {
  require_latency(settings, table);
  require_log_for(settings.openings, table, false);
  if (table.log) return fit_cascade_to_log(table, settings);
  const std::optional<TraceTable> estimated = table_to_fit(table, settings.evaluator);
  if (!estimated) return fit_filled(table, settings, nullptr);
  if (kinds_tried(settings) == std::vector{CascadeKind::indices})
    throw Error(ExitCode::usage,
                fmt::format("--kind indices: some qualities are not known; {}, or use another kind", kDropThem));
  CascadeFitSettings others = settings;
  others.indices = false;  // they learn from every answer's quality, and single estimates are none
  const QualityEstimates estimates(table, settings.evaluator);
  return fit_filled(*estimated, others, &estimates);
}

}  // namespace pandora
