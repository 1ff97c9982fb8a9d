// Tables of means over prompts and over cells.
#include "host/studies/results/other_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/results/policy_titles.hpp"

namespace pandora {
namespace {

std::string entry(const Estimate& e, const std::string& column) {
  return plus_minus(e, column == "cost_usd_per_1000" ? 3 : column == "calls" ? 2 : 4);
}

Row trace_row(const std::string& title, const SummaryRow& found, bool best) {
  Row row{{found.told ? title + " †" : title}};
  for (const PromptStatistic& statistic : kPromptStatistics)
    row.cells.emplace_back(entry((*found.prompts).*statistic.member, statistic.column),
                           best && std::string(statistic.column) == "utility");
  return row;
}

Cell mean_cell(const std::vector<double>& values, bool with_range) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  if (values.empty() || !std::isfinite(mean)) return "---";
  const auto [least, greatest] = std::ranges::minmax_element(values);
  const std::string range =
      with_range && values.size() > 1 ? fmt::format(" ({:.2f} to {:.2f})", *least, *greatest) : "";
  const double rounded = std::abs(mean) < 0.005 ? 0.0 : mean;  // no minus sign before a zero
  return {fmt::format("{:.2f}{}", rounded, range), false, fmt::format("{:.9g}", mean)};
}

std::vector<const RowStatistic*> titled_statistics() {
  std::vector<const RowStatistic*> out;
  for (const RowStatistic& statistic : row_statistics())
    if (statistic.title != nullptr) out.push_back(&statistic);
  return out;
}

// Whether the paper has numbers for the base among those shown. If not, the column would consist of dashes.
bool has_published(const std::vector<SettingSummary>& settings, const std::string& base) {
  return std::ranges::any_of(settings, [&](const SettingSummary& s) {
    return std::ranges::any_of(s.summary.rows, [&](const SummaryRow& r) { return r.policy == base && r.published; });
  });
}

Row overview_row(const Summary& summary, const std::string& regime, const PolicyTitle& title, const std::string& base,
                 bool published) {
  const std::vector<const RowStatistic*> shown = titled_statistics();
  std::vector<std::vector<double>> values(shown.size());
  std::vector<double> of_base, of_published;
  for (const SummaryRow& row : summary.rows) {
    if (!row.best || row.regime != regime || row.policy != title.policy || row.reward != title.reward) continue;
    for (std::size_t k = 0; k < shown.size(); ++k) values[k].push_back(shown[k]->of_row(row).mean);
    const SummaryRow* other = best_row(summary, base, row.reward, row.T0, row.regime, row.environment);
    if (other == nullptr) continue;
    of_base.push_back(row.regret.mean / other->regret.mean);
    if (other->published) of_published.push_back(row.regret.mean / other->published->value);
  }
  if (values[0].empty()) return {};
  Row row{{title.brief, fmt::format("{}", values[0].size())}};
  for (std::size_t k = 0; k < shown.size(); ++k) row.cells.push_back(mean_cell(values[k], k == 0));  // the regret
  if (base.empty()) return row;
  row.cells.push_back(mean_cell(of_base, true));
  if (published) row.cells.push_back(mean_cell(of_published, true));
  return row;
}

std::string title_of(const SettingSummary& summary) {
  const Study& study = summary.setting.study;
  const Environment& environment = study.environments[0];
  const std::string name = environment.name + (summary.setting.varied.empty() ? "" : ", " + summary.setting.label());
  if (laws_of(environment) != nullptr)
    return fmt::format(
        "{}: utility = value - costs per period, over {} periods in {} replications, ± 95% over replications", name,
        study.periods, study.replications);
  const TraceSizes sizes = trace_sizes(environment);
  const int periods = sizes.periods(study.actions.openings);
  return fmt::format(
      "{}: utility = quality - {:g} x dollars per prompt, over {}{} prompts in {} {}, ± 95% over {}", name,
      trace_keys(environment)->price, periods > sizes.prompts ? fmt::format("{} rows of ", periods) : "", sizes.prompts,
      study.replications, trace_keys(environment)->resample == Resample::permute ? "orders" : "replications",
      periods_are_prompts(environment) ? "prompts" : "replications");
}

std::string note_on_gaps(const Environment& environment) {
  if (laws_of(environment) != nullptr)
    return "gap: the benchmark's utility less the row's, which is the regret per period. Bold: the greatest utility of "
           "a policy that does not know the laws.";
  return periods_are_prompts(environment)
             ? "gap: the benchmark's utility less the row's, paired by prompt. ± is what other prompts of the same kind "
               "would change; orders of the same prompts are averaged out. Bold: the greatest utility of a policy that "
               "could be run."
             : "gap: the benchmark's utility less the row's. Every model's answers come in an order of their own: a "
               "period is no prompt, and ± is over replications, which says nothing about other prompts. Bold: the "
               "greatest utility of a policy that could be run.";
}

}  // namespace

Table trace_table(const SettingSummary& summary) {
  const Study& study = summary.setting.study;
  const Environment& environment = study.environments[0];
  const bool laws = laws_of(environment) != nullptr;
  Table table;
  table.label = "table-" + environment.name;
  table.title = title_of(summary);
  table.columns = {""};
  for (const PromptStatistic& statistic : kPromptStatistics)
    table.columns.push_back(laws && statistic.column == std::string("cost_usd_per_1000") ? "cost x 1000"
                                                                                         : statistic.title);
  bool told = false;
  for (const int T0 : study.T0) {
    const auto row_found = [&](const std::string& policy, const std::string& reward) {
      const SummaryRow* row =
          best_row(summary.summary, policy, reward, T0, regime_name(study.regimes[0]), environment.name);
      return row != nullptr && row->prompts ? row : nullptr;
    };
    table.rows.push_back({{}, fmt::format("T0 = {}", T0)});
    double greatest = -HUGE_VAL;
    const std::vector<PolicyTitle> titles = policy_titles(summary.summary);
    for (const PolicyTitle& title : titles)
      if (const SummaryRow* found = row_found(title.policy, title.reward); found != nullptr && competes(*found))
        greatest = std::fmax(greatest, found->prompts->utility.mean);
    if (const SummaryRow* benchmark = row_found("oracle", "known"); benchmark != nullptr)
      table.rows.push_back(trace_row(laws                                     ? "Benchmark: the laws are known"
                                     : trace_keys(environment)->index.empty() ? "Benchmark: hindsight"
                                                                              : "Benchmark: the table's indices",
                                     *benchmark, false));
    for (const PolicyTitle& title : titles)
      if (const SummaryRow* found = row_found(title.policy, title.reward); found != nullptr) {
        told = told || found->told;
        table.rows.push_back(
            trace_row(title.brief, *found, competes(*found) && found->prompts->utility.mean == greatest));
      }
  }
  table.notes.push_back(note_on_gaps(environment));
  EdgeNote edges;
  edges.see(summary.summary);
  edges.add_to(table.notes);
  if (trace_keys(environment)->repeat && study.periods > trace_sizes(environment).periods(study.actions.openings))
    table.notes.push_back(fmt::format("Prompts come round again: {} periods.", study.periods));
  if (told)
    table.notes.push_back(fmt::format("† told the quality, which the evaluator ({}) does not show: a yardstick.",
                                      trace_keys(environment)->evaluator));
  add_notes_on_rows({&summary, 1}, table.notes);
  return table;
}

std::string usual_base(const SettingSummary& settings) {
  std::vector<std::string> listed = settings.setting.study.policies, there;
  if (listed.empty()) listed = {"dow"};
  for (const SummaryRow& row : settings.summary.rows)
    if (row.policy != "oracle") there.push_back(row.policy);
  listed.insert(listed.end(), there.begin(), there.end());
  std::erase_if(listed, [&](const std::string& policy) { return std::ranges::count(there, policy) == 0; });
  const std::vector<PolicyTitle> titles = policy_titles(settings.summary);
  const auto competes = std::ranges::find_if(listed, [&](const std::string& policy) {
    return std::ranges::any_of(titles, [&](const PolicyTitle& t) { return t.policy == policy && !t.yardstick; });
  });
  return competes != listed.end() ? *competes : listed.empty() ? "" : listed[0];
}

Table overview_table(const std::vector<SettingSummary>& settings, const std::string& base) {
  const bool published = has_published(settings, base);
  Table table;
  table.label = "overview";
  table.title =
      "Overview: time-averaged regret x 1000 and its parts, means over the cells of a regime (least to greatest)";
  table.columns = {"policy", "cells"};
  table.heading_column = "cells of";
  for (const RowStatistic* statistic : titled_statistics()) table.columns.push_back(statistic->title);
  if (!base.empty()) {
    table.columns.push_back("of " + base);
    if (published) table.columns.push_back("of the published " + base);
  }
  for (const SettingSummary& s : settings)
    for (const Regime regime : s.setting.study.regimes) {
      const std::string label = s.setting.label(), name = regime_name(regime);
      std::vector<Row> rows;
      for (const PolicyTitle& title : policy_titles(s.summary))
        if (Row row = overview_row(s.summary, name, title, base, published); !row.cells.empty())
          rows.push_back(std::move(row));
      if (rows.empty()) continue;
      table.rows.push_back(
          {{},
           fmt::format("{}{}{}", label, label.empty() ? "" : ", ",
                       of_table(s.setting.study) ? s.setting.study.environments[0].name : "regime " + name),
           !table.rows.empty()});
      std::ranges::move(rows, std::back_inserter(table.rows));
    }
  table.notes = {
      "The parts add up to the regret: a wrong order of boxes, querying stopped too early, too many boxes opened, a "
      "wrong output deployed."};
  return table;
}

}  // namespace pandora
