#include "host/studies/results/benchmark_note.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "pandora/policy.hpp"

namespace pandora {
namespace {

bool competes(const SummaryRow& row) {
  const Policy* const policy = find_policy(row.policy);
  return !row.told && (policy == nullptr || policy->group != PolicyGroup::yardstick);
}

bool beats_the_benchmark(const SummaryRow& row) {
  if (row.replications < 2) return false;
  const double half_width = row.regret.half_width_95 / 1.96 * student_t_quantile(0.975, row.replications - 1.0);
  return row.regret.mean + half_width < 0.0;
}

}  // namespace

std::vector<SummaryRow> best_rows(const Summary& summary) {
  std::vector<SummaryRow> out;
  std::copy_if(summary.rows.begin(), summary.rows.end(), std::back_inserter(out),
               [](const SummaryRow& row) { return row.best; });
  return out;
}

std::string benchmark_note(std::span<const SummaryRow> rows) {
  const SummaryRow* least = nullptr;
  std::size_t count = 0, all = 0;
  for (const SummaryRow& row : rows) {
    if (!competes(row)) continue;
    ++all;
    if (!beats_the_benchmark(row)) continue;
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

}  // namespace pandora
