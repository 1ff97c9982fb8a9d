#include "host/cascades/fits/fit_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/outcomes/tables/evaluator_spec.hpp"
#include "kernels/rules/shrinkage.hpp"

namespace pandora {
namespace {

std::vector<Cell> worth_cells(const std::string& name, const CascadeWorth& worth, bool with_gain) {
  return {name,
          interval_text(worth.utility, 4),
          with_gain ? interval_text(worth.gain, 4) : "---",
          interval_text(worth.quality, 4),
          usd_text(worth.usd_per_1000),
          fmt::format("{:.2f}", worth.calls.value)};
}

const std::vector<std::string> kWorthColumns = {"",        "utility",     "gain over best single",
                                                "quality", "$ per 1,000", "calls"};

// "worth 0.0021 more (standard error 0.0010)"
std::string choice_note(const CascadeFit& fit) {
  const CascadeChoice& choice = fit.choice;
  std::string out = fmt::format("choice: {}; runner-up: {}", kind_text(choice.kind), kind_text(runner_up(fit)));
  if (!choice.compared) return out;
  out += fmt::format("; indices less thresholds is {:.4g}, with a standard error of {:.2g}", choice.difference.value,
                     choice.difference_error);
  if (choice.difference.value <= choice.difference_error && choice.thresholds->met)
    out += choice.difference.value > 0.0 ? ": indices do not lead by more than that, so the simpler kind is taken" : "";
  return out;
}

Table kinds_table(const CascadeFit& fit) {
  Table out;
  const CascadeAim& aim = fit.settings.aim;
  out.title = fmt::format(
      "Fitted for {} on {} prompts with {} models, {}: utility = quality - {:g} x dollars; "
      "what to expect of other prompts, with 95% intervals",
      aim_text(aim), fit.prompts, fit.models.size(), evaluator_text(fit.settings.evaluator, fit.settings.judge_usd),
      fit.price);
  out.columns = kWorthColumns;
  out.columns[0] = "policy";
  out.rows.push_back({worth_cells(kind_text(CascadeKind::single), fit.single, false)});
  for (const auto& [kind, worth] : fit.kinds) out.rows.push_back({worth_cells(kind_text(kind), worth, true)});
  out.rows.push_back({worth_cells("promise", fit.promise, true), {}, true});
  out.notes.push_back(choice_note(fit));
  if (aim.is_bound()) out.notes.push_back(fmt::format("price found: {:g}", fit.price));
  if (const int unsolved = fit.cascade->counts().unsolved_refits; unsolved > 0)
    out.notes.push_back(
        fmt::format("{} fit of the indices ended at {} steps, before its tolerance", unsolved, RefitPlan::kMostSteps));
  out.notes.push_back(
      "promise: what is deployed, on other prompts: as on these, less by how much calibration, fit and choice together "
      "do better on prompts that they saw");
  if (fit.tail.heavy())
    out.notes.push_back("intervals of dollars and savings may be too narrow: " + tail_text(fit.tail));
  out.notes.insert(out.notes.end(), fit.notes.begin(), fit.notes.end());
  out.notes.push_back("verdict: " + fit.verdict);
  return out;
}

Table shares_table(const CascadeFit& fit, const CascadeOptions& cascade) {
  Table out;
  out.title = "What is deployed: shares of the prompts of the fitting table";
  out.columns = {"model", "accepted from", "called", "deployed"};
  const bool ordered = !cascade.rules.has_value();
  for (std::size_t i = 0; i < fit.shares.size(); ++i) {
    const ModelShare& share = fit.shares[ordered ? cascade.order[i] : i];
    const std::string from = ordered && i < cascade.thresholds.size() ? fmt::format("{:.4g}", cascade.thresholds[i])
                             : ordered                                ? "always"
                                                                      : "---";
    out.rows.push_back({{share.model, from, fmt::format("{:.1f}%", 100.0 * share.called),
                         fmt::format("{:.1f}%", 100.0 * share.deployed)}});
  }
  if (!ordered) out.notes.push_back("in the order of their indices, which differs between prompts");
  if (!fit.never.empty()) out.notes.push_back(fmt::format("never worth calling: {}", fmt::join(fit.never, ", ")));
  return out;
}

Table without_table(const CascadeFit& fit) {
  Table out;
  out.title = "Without one model: the same kind fitted anew";
  out.columns = {"", "change of utility", "quality", "$ per 1,000", "calls"};
  for (const OtherFit& other : fit.without)
    out.rows.push_back({{other.what, interval_text(other.change, 4), interval_text(other.worth.quality, 4),
                         usd_text(other.worth.usd_per_1000), fmt::format("{:.2f}", other.worth.calls.value)}});
  return out;
}

Table elsewhere_table(const CascadeFit& fit) {
  Table out;
  out.title = "Under other circumstances: the same kind fitted anew, beside the best single model there";
  out.columns = kWorthColumns;
  for (const OtherFit& other : fit.elsewhere) out.rows.push_back({worth_cells(other.what, other.worth, true)});
  if (fit.settings.judge_usd && fit.break_even_judge > 0.0)
    out.notes.push_back(
        fmt::format("as it is, the gain is gone where judging an answer costs ${:.2g} more", fit.break_even_judge));
  return out;
}

}  // namespace

std::vector<Table> fit_tables(const CascadeFit& fit) {
  std::vector<Table> out = {kinds_table(fit), shares_table(fit, fit.cascade->options())};
  if (!fit.without.empty()) out.push_back(without_table(fit));
  if (!fit.elsewhere.empty()) out.push_back(elsewhere_table(fit));
  for (std::size_t i = 1; i < out.size(); ++i)
    out[i].title += "; " + evaluator_text(fit.settings.evaluator, fit.settings.judge_usd);
  return out;
}

}  // namespace pandora
