// Each note counts the rows to which it applies, and names the most extreme one.
#include "host/studies/results/table_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "host/ground/base/printable.hpp"
#include "host/studies/results/policy_titles.hpp"

namespace pandora {
namespace {

// Utility per period with an upper bound on its half-width. The exact one is unknown, because costs and rewards are not
// independent.
Estimate utility_of(const SummaryRow& row) {
  if (row.prompts) return row.prompts->utility;
  return {row.quality.mean - row.cost.mean, row.quality.half_width_95 + row.cost.half_width_95};
}

bool beats_the_benchmark(const SummaryRow& row) {
  return row.regret.mean + row.regret.half_width_95 < 0.0;
}

std::string utility_note(std::span<const SummaryRow> rows) {
  const SummaryRow* least = nullptr;
  std::size_t negative = 0, all = 0;
  std::set<std::string> yardsticks;
  for (const SummaryRow& row : rows) {
    const Estimate utility = utility_of(row);
    all += competes(row) ? 1 : 0;
    if (row.replications < 2 || !(utility.mean + utility.half_width_95 < 0.0)) continue;
    if (!competes(row)) {
      yardsticks.insert(row.policy);
      continue;
    }
    ++negative;
    if (least == nullptr || utility.mean < utility_of(*least).mean) least = &row;
  }
  if (negative == 0 && yardsticks.empty()) return "";
  std::string who = negative == 0 ? "" : fmt::format("of {} of {} rows", negative, all);
  if (least != nullptr)
    who += fmt::format(" (least: {} in {}/{}, {:.4g}{})", least->policy, least->environment, least->regime,
                       utility_of(*least).mean, least->prompts ? "" : " x 1000");
  if (!yardsticks.empty())
    who += fmt::format("{}of yardsticks ({})", who.empty() ? "" : " and ", fmt::join(yardsticks, ", "));
  return fmt::format(
      "The mean utility {} is negative: a box must be opened in every period, and there it costs more than it brings.",
      who);
}

// The T_0 that exceed the horizon, where the horizon is shortest.
std::string calibration_note(std::span<const SettingSummary> settings) {
  std::set<int> longer;
  int shortest = settings[0].setting.study.periods;
  for (const SettingSummary& s : settings) {
    shortest = std::min(shortest, s.setting.study.periods);
    for (const int T0 : s.setting.study.T0)
      if (T0 > s.setting.study.periods) longer.insert(T0);
  }
  if (longer.empty()) return "";
  return fmt::format(
      "T0 = {} is longer than a horizon of {} periods: most of what is learned is learned before the periods that the "
      "table counts.",
      fmt::join(longer, ", "), shortest);
}

std::string box_note(std::span<const SettingSummary> settings) {
  const auto one = [](const SettingSummary& s) { return s.setting.study.dimensions.boxes == 1; };
  if (std::ranges::none_of(settings, one)) return "";
  return fmt::format(
      "{} every policy opens it in every period, so no policy has any regret and none can be told from another.",
      std::ranges::all_of(settings, one) ? "There is one box:" : "Where there is one box,");
}

// In a table of prompts, intervals are over prompts.
std::string replication_note(std::span<const SummaryRow> rows) {
  const auto one = [](const SummaryRow& row) { return row.replications == 1 && !row.prompts; };
  const auto count = std::ranges::count_if(rows, one);
  if (count == 0) return "";
  return fmt::format(
      "{} one replication, which has no half-width: differences may be those of the instance that was drawn.",
      static_cast<std::size_t>(count) == rows.size() ? "There is"
                                                     : fmt::format("{} of {} rows are of", count, rows.size()));
}

}  // namespace

bool competes(const SummaryRow& row) {
  const Policy* const policy = find_policy(row.policy);
  return !row.told && (policy == nullptr || policy->group != PolicyGroup::yardstick);
}

std::string benchmark_note(std::span<const SummaryRow> rows) {
  const SummaryRow* least = nullptr;
  std::size_t count = 0, all = 0;
  for (const SummaryRow& row : rows) {
    all += competes(row) ? 1 : 0;
    if (!competes(row) || !beats_the_benchmark(row)) continue;
    ++count;
    if (least == nullptr || row.regret.mean < least->regret.mean) least = &row;
  }
  if (least == nullptr) return "";
  return fmt::format(
      "{} of {} regrets {} negative beyond the 95% interval (least: {} in {}/{}, {}): the benchmark is not optimal "
      "there. Its indices are not those of the costs and outputs that are drawn, or boxes depend on each other given "
      "the request, or a policy sees more than the request (docs/changing.md).",
      count, all, count == 1 ? "is" : "are", least->policy, least->environment, least->regime,
      plus_minus(least->regret));
}

std::string budget_note(std::span<const SummaryRow> rows, std::span<const Pacing> budgets) {
  const auto spent = [&](std::size_t k) {
    const SummaryRow& row = rows[k];
    return budgets[k].of == Pacing::Of::queries ? row.queries
                                                : Estimate{row.cost.mean / 1000.0, row.cost.half_width_95 / 1000.0};
  };
  const auto excess = [&](std::size_t k) { return spent(k).mean - budgets[k].budget; };
  std::size_t over = 0, all = 0, most = rows.size();
  std::set<double> different;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!competes(rows[k]) || budgets[k].of == Pacing::Of::nothing) continue;
    ++all;
    different.insert(budgets[k].budget);
    over += excess(k) - spent(k).half_width_95 > 0.0 ? 1 : 0;
    if (most == rows.size() || excess(k) > excess(most)) most = k;
  }
  if (all == 0) return "";
  const bool several = different.size() > 1;
  return fmt::format(
      "Budget{} of {:g} {} per period: {} of {} rows {} more{}, beyond the 95% interval (most{}: {} in {}/{}, "
      "{:.4f}±{:.4f}{}).",
      several ? "s" : "", fmt::join(different, ", "), budgets[most].of == Pacing::Of::queries ? "boxes" : "of costs",
      over, all, over == 1 ? "spends" : "spend", several ? " than their own" : "", several ? " beyond it" : "",
      rows[most].policy, rows[most].environment, rows[most].regime, spent(most).mean, spent(most).half_width_95,
      several ? fmt::format(" of {:g}", budgets[most].budget) : "");
}

void EdgeNote::see(const std::string& title, const std::string& chosen, const std::vector<std::string>& tried) {
  for (const auto& [name, text] : hyperparameter_values(chosen)) {
    const std::optional<double> value = number_of(text);
    if (!value) continue;
    bool less = false, greater = false;
    for (const std::string& other : tried)
      if (const std::optional<double> x = number_of(hyperparameter_of(other, name)); x) {
        less = less || *x < *value;
        greater = greater || *x > *value;
      }
    if (less == greater || (greater && *value == 0.0)) continue;
    auto own = std::ranges::find(ends_, title, &Ends::first);
    if (own == ends_.end()) own = ends_.insert(ends_.end(), {title, {}});
    add_new(own->second, fmt::format("{} = {}", name, text));
  }
}

void EdgeNote::see(const Summary& summary) {
  for (const PolicyTitle& title : policy_titles(summary)) {
    std::vector<std::string> tried, best;
    for (const SummaryRow& row : summary.rows) {
      if (row.policy != title.policy || row.reward != title.reward) continue;
      tried.push_back(row.hyperparameter);
      if (row.best) best.push_back(row.hyperparameter);
    }
    for (const std::string& chosen : best) see(title.brief, chosen, tried);
  }
}

void EdgeNote::add_to(std::vector<std::string>& notes) const {
  std::string list;
  for (const auto& [title, ends] : ends_)
    list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", title, fmt::join(ends, ", "));
  if (!list.empty())
    notes.push_back(fmt::format("Best at an end of its values, where a wider grid may have less regret: {}.", list));
}

void add_notes_on_rows(std::span<const SettingSummary> settings, std::vector<std::string>& notes) {
  std::vector<SummaryRow> best;
  std::vector<Pacing> budgets;
  for (const SettingSummary& s : settings) {
    std::ranges::copy_if(s.summary.rows, std::back_inserter(best), &SummaryRow::best);
    budgets.resize(best.size(), s.setting.study.budget);
  }
  for (const std::string& note : {benchmark_note(best), budget_note(best, budgets), utility_note(best),
                                  calibration_note(settings), box_note(settings), replication_note(best)})
    if (!note.empty()) notes.push_back(note);
}

}  // namespace pandora
