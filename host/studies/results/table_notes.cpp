// What the tables of unusual studies show, in words below them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "host/studies/results/regret_tables.hpp"

namespace pandora {
namespace {

// Utility per period with a half-width that the true one does not exceed: what is paid and what is won are not
// independent.
Estimate utility_of(const SummaryRow& row) {
  if (row.prompts) return row.prompts->utility;
  return {row.quality.mean - row.cost.mean, row.quality.half_width_95 + row.cost.half_width_95};
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

// T_0 that are longer than the horizon, where it is shortest.
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

// In a table of prompts, the intervals are over these.
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
