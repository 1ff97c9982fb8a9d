// A fit as JSON and as a sentence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"

namespace pandora {
namespace {

using nlohmann::json;

json others_json(const std::vector<OtherFit>& others) {
  json out = json::array();
  for (const OtherFit& other : others) {
    json one = json_of(other.worth);
    one["what"] = other.what;
    if (other.change) one["change"] = json_of(*other.change);
    out.push_back(one);
  }
  return out;
}

json running_json(const CascadeFit& fit) {
  json out = json_of(*fit.running);
  out["fit_gains"] = out["gain"];
  out["keep"] = fit.keeps_running();
  out.erase("gain");  // elsewhere that over the best single model
  out.erase("saving");
  return out;
}

std::string gain_text(const CascadeFit& fit) {
  if (fit.settings.aim.kind == CascadeAim::Kind::least_quality)
    return "$" + usd_text(fit.choice.gain) + " per 1,000 prompts";
  return interval_text(fit.choice.gain, 4) + (fit.settings.aim.is_bound() ? " in quality" : " in utility per prompt");
}

// Of dollars with a heavy tail no bound can be trusted.
bool is_sure(const CascadeFit& fit) {
  return !fit.settings.aim.is_on_dollars() || !fit.tail.heavy();
}

// "at most $0.001 per prompt is kept: with 95% confidence it is at most $0.00094"
std::string bound_text(const CascadeFit& fit) {
  const PickedCandidate& picked = fit.choice.chosen();
  const CascadeAim& aim = fit.settings.aim;
  const bool dollars = aim.is_on_dollars();
  if (!is_sure(fit))
    return fmt::format(
        "whether {} is kept cannot be said with any confidence, for {}; on these prompts it costs ${:.3g}",
        aim_text(aim), tail_text(fit.tail), fit.tail.mean);
  const auto number = [&](double x) { return dollars ? fmt::format("${:.3g}", x) : fmt::format("{:.4f}", x); };
  const std::string reached = fmt::format("at {} {}", dollars ? "most" : "least", number(picked.bound));
  if (picked.met) return fmt::format("{} is kept: with 95% confidence it is {}", aim_text(aim), reached);
  return fmt::format("{} is missed by {}: with 95% confidence what comes nearest has {}", aim_text(aim),
                     number(std::abs(picked.bound - aim.value)), reached);
}

// Of a fit to the log of a cascade: it is held against the rules that made the log.
std::string running_verdict(const CascadeFit& fit, const std::string& what) {
  const CascadeWorth& running = *fit.running;
  const std::string gain =
      std::isnan(running.gain.value) ? "the log cannot tell of them" : "the gain is " + interval_text(running.gain, 4);
  if (fit.keeps_running())
    return fmt::format(
        "keep the rules that made the log: without exploring they brought {} in utility per prompt, and nothing is sure to "
        "bring more; what comes nearest: {}, {}",
        interval_text(running.utility, 4), what, gain);
  return fmt::format("use {}: it gains {} in utility per prompt over the rules that made the log, without exploring",
                     what, interval_text(running.gain, 4));
}

}  // namespace

std::string order_text(const CascadeOptions& cascade) {
  std::string out;
  const auto add = [&](const std::vector<std::size_t>& order, const std::vector<double>& thresholds) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      out += (i > 0 ? ", " : "") + cascade.models[order[i]];
      if (i < thresholds.size()) out += fmt::format(" (accepted from {:.4g})", thresholds[i]);
    }
  };
  add(cascade.order, cascade.thresholds);
  for (const CascadePlan& plan : cascade.plans) {
    if (plan.order.empty()) continue;
    if (!out.empty()) out += " | ";
    add(plan.order, plan.thresholds);
  }
  return out;
}

std::string plans_text(const CascadeOptions& cascade) {
  const json router = json::parse(cascade.router, nullptr, false);
  const std::string by = router.is_object() ? router.value("learner", "") : "";
  return fmt::format(
      "For each prompt the plan is taken that promises most by its context ({}): {}. A model alone needs no judge{}",
      by, order_text(cascade),
      calls_one_model(cascade) ? "."
                               : "; where the estimated quality of an answer reaches the number of its model, nothing "
                                 "more is called, and the best answer so far is deployed.");
}

std::string fit_verdict(const CascadeFit& fit, const CascadeOptions& cascade) {
  if (fit.running) return running_verdict(fit, order_text(cascade));
  const CascadeAim& aim = fit.settings.aim;
  const std::string bound = aim.is_bound() ? bound_text(fit) + "; " : "";
  const std::string tried = kind_text(fit.choice.cascade);
  if (fit.choice.kind == CascadeKind::single) {
    if (fit.models.size() == 1) return fmt::format("{}use {} alone, the only model", bound, fit.single_model);
    if (aim.is_bound() && !fit.choice.best_of(fit.choice.cascade).met)
      return fmt::format("{}use {} alone", bound, fit.single_model);
    if (aim.most_latency && !fit.choice.best_of(fit.choice.cascade).in_time)
      return fmt::format("{}use {} alone: {} gain {} at price {:g}, but take too long", bound, fit.single_model, tried,
                         gain_text(fit), fit.price);
    return fmt::format("{}use {} alone: no cascade is better with this evaluator ({}) at price {:g}: {} {} {}", bound,
                       fit.single_model, fit.settings.evaluator, fit.price, tried,
                       aim.kind == CascadeAim::Kind::least_quality ? "save" : "gain", gain_text(fit));
  }
  const std::string what = cascade.rules           ? "indices of each prompt"
                           : cascade.plans.empty() ? order_text(cascade)
                                                   : "for each prompt, by its context, one of " + order_text(cascade);
  if (!fit.choice.pays)  // it was asked for all the same
    return fmt::format("{}use {}, as was asked for, although it is not sure to be better than {} alone: {} {}", bound,
                       what, fit.single_model, aim.kind == CascadeAim::Kind::least_quality ? "saving" : "gain",
                       gain_text(fit));
  if (aim.is_bound() && !(fit.choice.single().met && fit.choice.chosen().met))
    return fmt::format("{}use {}: {}", bound, what,
                       !is_sure(fit)             ? "by what is seen it comes nearest"
                       : fit.choice.chosen().met ? "no single model keeps the bound"
                                                 : "it comes nearest");
  if (aim.kind == CascadeAim::Kind::least_quality)
    return fmt::format("{}use {}: against the best single model, {}, it saves {}, {} of its dollars", bound, what,
                       fit.single_model, gain_text(fit), share_text(fit.promise.saving));
  return fmt::format("{}use {}: it gains {} over the best single model, {}, and {}", bound, what, gain_text(fit),
                     fit.single_model, saving_text(fit.promise.saving));
}

json fit_record(const CascadeFit& fit) {
  constexpr const char* kAims[] = {"price", "max_usd", "min_quality"};
  const CascadeChoice& choice = fit.choice;
  const CascadeAim& aim = fit.settings.aim;
  json out{{"table", fit.table},
           {"digest", fit.digest},
           {"rows", fit.rows},
           {"prompts", fit.prompts},
           {"models", fit.models},
           {"aim", {{"kind", kAims[static_cast<int>(aim.kind)]}, {"value", aim.value}}},
           {"price", fit.price},
           {"evaluator", fit.settings.evaluator},
           {"context", fit.settings.context},
           {"judge_usd", fit.settings.judge_usd ? json(*fit.settings.judge_usd) : json()},
           {"folds", kCascadeFolds},
           {"out_of_fold", fit.settings.out_of_fold(choice.cascade)},
           {"choice", kind_text(choice.kind)},
           {"cascade", kind_text(choice.cascade)},
           {"gain", json_of(choice.gain)},
           {"pays", choice.pays && !fit.keeps_running()},
           {"promise", json_of(fit.promise)},
           {"single", json_of(fit.single)},
           {"never", fit.never},
           {"without", others_json(fit.without)},
           {"elsewhere", others_json(fit.elsewhere)},
           {"shares", json::array()},
           {"notes", fit.notes},
           {"verdict", fit.verdict}};
  out["single"]["model"] = fit.single_model;
  if (fit.running) out["running"] = running_json(fit);
  for (const auto& [kind, worth] : fit.kinds) out["kinds"][kind_text(kind)] = json_of(worth);
  out["runner_up"] = kind_text(runner_up(fit));
  if (choice.rival) {
    out["compared"] = {kind_text(std::max(choice.cascade, *choice.rival)),
                       kind_text(std::min(choice.cascade, *choice.rival))};
    out["difference"] = json_of(choice.difference);
    out["difference"]["error"] = choice.difference_error;
  }
  if (aim.most_latency) out["latency"] = {{"most", *aim.most_latency}, {"p95", fit.latency}};
  if (aim.is_bound()) {
    const PickedCandidate& picked = choice.chosen();
    const bool sure = is_sure(fit);
    out["bound"] = {{"met", sure && picked.met},
                    {"reached", sure ? json(picked.bound) : json()},
                    {"missed_by", !sure        ? json()
                                  : picked.met ? json(0.0)
                                               : json(std::abs(picked.bound - aim.value))}};
  }
  out["dollar_tail"] = {{"heavy", fit.tail.heavy()},
                        {"skewness", fit.tail.skewness},
                        {"dearest", fit.tail.dearest},
                        {"share", fit.tail.share},
                        {"least_prompts", std::ceil(fit.tail.least_prompts())}};
  if (fit.break_even_judge > 0.0) out["break_even_judge_usd"] = fit.break_even_judge;
  for (const ModelShare& share : fit.shares)
    out["shares"].push_back({{"model", share.model}, {"called", share.called}, {"deployed", share.deployed}});
  return out;
}

CascadeKind runner_up(const CascadeFit& fit) {
  std::vector<std::tuple<bool, double, CascadeKind>> rated;  // met, worth
  const auto rate = [&](CascadeKind kind, const CascadeWorth& w) {
    const CascadeAim& aim = fit.settings.aim;
    const double worth = !aim.is_bound()       ? w.utility.value
                         : aim.is_on_dollars() ? w.quality.value
                                               : -w.usd_per_1000.value;
    if (kind != fit.choice.kind) rated.emplace_back(fit.choice.best_of(kind).met, worth, kind);
  };
  rate(CascadeKind::single, fit.single);
  for (const auto& [kind, worth] : fit.kinds) rate(kind, worth);
  const auto better = [](const auto& a, const auto& b) {
    return std::pair(get<0>(a), get<1>(a)) < std::pair(get<0>(b), get<1>(b));
  };
  return get<CascadeKind>(*std::max_element(rated.begin(), rated.end(), better));
}

}  // namespace pandora
