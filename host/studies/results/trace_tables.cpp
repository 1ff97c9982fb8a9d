#include "host/studies/results/trace_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/results/benchmark_note.hpp"
#include "host/studies/results/edge_note.hpp"
#include "host/studies/results/policy_titles.hpp"

namespace pandora {
namespace {

const SummaryRow* best_row(const Summary& summary, const std::string& policy, const std::string& reward, int T0) {
  const auto row = std::find_if(summary.rows.begin(), summary.rows.end(), [&](const SummaryRow& r) {
    return r.best && r.policy == policy && r.reward == reward && r.T0 == T0;
  });
  return row == summary.rows.end() ? nullptr : &*row;
}

std::string entry(const Estimate& e, const std::string& column) {
  return plus_minus(e, column == "cost_usd_per_1000" ? 3 : column == "calls" ? 2 : 4);
}

Row row_of(const std::string& title, const SummaryRow& found, bool best) {
  Row row{{found.told ? title + " †" : title}};
  for (const PromptStatistic& statistic : kPromptStatistics)
    row.cells.emplace_back(entry((*found.prompts).*statistic.member, statistic.column),
                           best && std::string(statistic.column) == "utility");
  return row;
}

}  // namespace

Table trace_table(const SettingSummary& summary) {
  const Study& study = summary.setting.study;
  const Environment& environment = study.environments[0];
  Table table;
  table.label = "table-" + environment.name;
  table.title =
      fmt::format("{}{}: utility = quality - {:g} x dollars per prompt, over {} prompts in {} {}, ± 95% over prompts",
                  environment.name, summary.setting.varied.empty() ? "" : ", " + summary.setting.label(),
                  trace_keys(environment)->price, trace_sizes(environment).online, study.replications,
                  trace_keys(environment)->resample == Resample::permute ? "orders" : "replications");
  table.columns = {""};
  for (const PromptStatistic& statistic : kPromptStatistics) table.columns.push_back(statistic.title);
  bool told = false;
  for (const int T0 : study.T0) {
    table.rows.push_back({{}, fmt::format("T0 = {}", T0)});
    double greatest = -HUGE_VAL;
    const std::vector<PolicyTitle> titles = policy_titles(summary.summary);
    for (const PolicyTitle& title : titles)
      if (const SummaryRow* found = best_row(summary.summary, title.policy, title.reward, T0);
          found != nullptr && !title.yardstick && !found->told && found->prompts)
        greatest = std::fmax(greatest, found->prompts->utility.mean);
    if (const SummaryRow* benchmark = best_row(summary.summary, "oracle", "known", T0); benchmark && benchmark->prompts)
      table.rows.push_back(
          row_of(trace_keys(environment)->index.empty() ? "Benchmark: hindsight" : "Benchmark: the table's indices",
                 *benchmark, false));
    for (const PolicyTitle& title : titles)
      if (const SummaryRow* found = best_row(summary.summary, title.policy, title.reward, T0);
          found && found->prompts) {
        told = told || found->told;
        table.rows.push_back(
            row_of(title.brief, *found, !title.yardstick && !found->told && found->prompts->utility.mean == greatest));
      }
  }
  table.notes.push_back(
      "gap: the benchmark's utility less the row's, paired by prompt. ± is what other prompts of the same kind would "
      "change; orders of the same prompts are averaged out. Bold: the greatest utility of a policy that could be run.");
  EdgeNote edges;
  edges.see(summary.summary);
  edges.add_to(table.notes);
  if (trace_keys(environment)->repeat && study.periods > trace_sizes(environment).online)
    table.notes.push_back(fmt::format("Prompts come round again: {} periods.", study.periods));
  if (told)
    table.notes.push_back(fmt::format("† told the quality, which the evaluator ({}) does not show: a yardstick.",
                                      trace_keys(environment)->evaluator));
  if (std::string note = benchmark_note(best_rows(summary.summary)); !note.empty())
    table.notes.push_back(std::move(note));
  return table;
}

}  // namespace pandora
