#include "host/report/report.hpp"

#include <nlohmann/json.hpp>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/statistics/resampling.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/report/cells.hpp"
#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/policy_titles.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/study/study_keys.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

// The policy to which ratios are taken; it is the first in comparisons.
std::string base_of(const std::vector<SettingSummary>& settings, const ReportOptions& options) {
  return !options.base.empty()       ? options.base
         : !options.policies.empty() ? options.policies[0]
                                     : usual_base(settings[0]);
}

// The base paired with each other policy; nothing if there is only one policy. Yardsticks do not compete.
std::vector<ComparedPair> pairs_of(StoredResults& results, const std::string& base, const ReportOptions& options) {
  Names names = options.policies;
  if (names.empty())
    for (const PlannedLane& lane : results.settings()[0].plan.lanes)
      if (lane.policy->group != PolicyGroup::yardstick) add_new(names, lane.policy->name);
  std::erase(names, base);
  if (!base.empty()) names.insert(names.begin(), base);
  if (!options.differences || !results.settings()[0].setting.study.regret || names.size() < 2) return {};
  return compare_policies(results, {.policies = names});
}

// The policies that were asked for, with the base to which they are compared; empty: all.
Names policies_shown(const StoredResults& results, const ReportOptions& options) {
  Names names = options.policies;
  if (!names.empty() && !options.base.empty()) add_new(names, options.base);
  for (const std::string& name : names) (void)parse_policy_name(name, results.settings()[0].plan);
  return names;
}

// Keeps only the rows of these policies and of the oracle.
void keep_policies(std::vector<SettingSummary>& settings, const Names& names) {
  if (names.empty()) return;
  for (SettingSummary& s : settings) {
    std::erase_if(s.summary.rows, [&](const SummaryRow& row) {
      return row.policy != "oracle" && !has(names, row.policy) && !has(names, row.policy + "/" + row.reward);
    });
    s.setting.study.policies.clear();  // they would give rows without numbers
  }
}

json tables_of(std::vector<SettingSummary> settings, const Names& shown, const std::string& base) {
  keep_policies(settings, shown);
  std::vector<Table> tables = study_tables(settings, TableLayout::compact);
  if (settings[0].setting.study.regret) tables.push_back(overview_table(settings, base));
  json out = json::array();
  for (const Table& table : tables) out.push_back(table_json(table));
  return out;
}

json setting_json(const Setting& setting) {
  const Study& study = setting.study;
  json varied = json::array();
  for (const auto& [key, value] : setting.varied) {
    const std::optional<double> number = number_of(value);
    varied.push_back({key, value, number ? json(*number) : json()});
  }
  return {{"varied", varied},
          {"boxes", study.dimensions.boxes},
          {"context", of_table(study) ? json() : json(study.dimensions.context)},
          {"periods", study.periods},
          {"replications", study.replications}};
}

json titles_json(const std::vector<SettingSummary>& settings) {
  Summary all;
  for (const SettingSummary& s : settings) append(Summary(s.summary), all);
  json out = json::array();
  for (const PolicyTitle& title : policy_titles(all))
    out.push_back({{"policy", title.policy},
                   {"reward", title.reward},
                   {"brief", title.brief},
                   {"knows_reward", title.knows_reward}});
  return out;
}

// The exponent of T for each policy at its best hyperparameters.
json slope_json(const Study& study, const std::vector<UnitResult>& units, const SummaryRow& row) {
  const std::vector<int> periods = checkpoints(study.periods);
  std::vector<std::vector<double>> curves;
  for (const UnitResult& unit : units) {
    if (!counts(unit, row.lane)) continue;
    std::vector<double>& curve = curves.emplace_back();
    for (std::size_t k = 0; k < periods.size(); ++k)
      curve.push_back(unit.lanes[0].curve[k] - unit.lanes[row.lane].curve[k]);
  }
  const Estimate slope = growth_exponent({periods.begin(), periods.end()}, curves, study.periods / 30.0);
  return {{"policy", row.policy},
          {"reward", row.reward},
          {"T0", row.T0},
          {"slope", slope.mean},
          {"half_width_95", slope.half_width_95}};
}

json group_json(std::size_t number, const Setting& setting, const Plan& plan, const std::vector<UnitResult>& units) {
  const Summary summary = summarise(setting.study, plan, units);
  const Unit& unit = plan.units[0];
  json out = {{"setting", number},
              {"environment", unit.environment.name},
              {"title", environment_title(unit.environment.name)},
              {"regime", regime_name(unit.regime)},
              {"slopes", json::array()}};
  ResultRows rows(setting.varied, plan, "pandora");
  rows.add_summary(summary, setting.varied);
  if (setting.varied.empty())  // otherwise tables do not show them
    for (const SummaryRow& row : summary.rows) {
      if (row.best || row.policy == "oracle") rows.add_row(setting, units, row);
      if (row.best && row.policy != "oracle") out["slopes"].push_back(slope_json(setting.study, units, row));
    }
  for (const char* file : {"summary", "curves", "boxes", "depth"}) out[file] = columns_json(rows.files.at(file));
  return out;
}

}  // namespace

json report_numbers(StoredResults& results, const ReportOptions& options) {
  const Study& study = results.settings()[0].setting.study;
  const std::vector<SettingSummary> settings = results.summaries();
  const std::string base = base_of(settings, options);
  const std::vector<ComparedPair> pairs = pairs_of(results, base, options);
  const Names shown = policies_shown(results, options);
  json out = {{"title", results.config().values().at("title").texts[0]},
              {"seed", study.seed},
              {"engine", study.engine.text()},
              {"regret", study.regret},
              {"of_table", of_table(study) && laws_of(study.environments[0]) == nullptr},
              {"of_prompts", of_table(study) && periods_are_prompts(study.environments[0])},
              {"unfinished", results.unfinished()},
              {"study", results.config().toml()},
              {"manifest", results.manifest()},
              {"policies", options.policies},
              {"base", options.base},
              {"shown", shown},
              {"T0", study.T0},
              {"settings", json::array()},
              {"meanings", json::object()},
              {"parts", json::array()},
              {"groups", json::array()},
              {"titles", titles_json(settings)},
              {"pairs", columns_json(comparison_columns(pairs))},
              {"tables", tables_of(settings, shown, pairs.empty() ? "" : split(base, '/')[0])}};
  for (const PlannedSetting& planned : results.settings()) out["settings"].push_back(setting_json(planned.setting));
  for (const auto& [name, value] : results.settings()[0].setting.varied)
    for (const StudyKey& key : study_keys())
      if (key.name == name) out["meanings"][name] = key.meaning;
  for (const RowStatistic& statistic : row_statistics())
    if (statistic.title != nullptr && &statistic != &row_statistics()[0])
      out["parts"].push_back({statistic.title, statistic.column});
  results.for_each_group([&](std::size_t number, const Plan& plan, const std::vector<UnitResult>& units) {
    const Setting& setting = results.settings()[number].setting;
    if (setting.study.regret) out["groups"].push_back(group_json(number, setting, plan, units));
  });
  return out;
}

}  // namespace pandora
