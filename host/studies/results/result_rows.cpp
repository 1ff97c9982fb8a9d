#include "host/studies/results/result_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "host/ground/tables/table.hpp"
#include "host/studies/study/hyperparameter_values.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

std::string columns(const Varied& keys) {
  std::string out;
  for (const auto& [key, value] : keys) out += key + ",";
  return out;
}

std::string cells(const Varied& varied) {
  std::string out;
  for (const auto& [key, value] : varied) out += csv_cell(value) + ",";
  return out;
}

std::string number(double x) {
  return std::isfinite(x) ? fmt::format("{:.6f}", x) : "";
}

std::string both(const Estimate& e) {
  return number(e.mean) + "," + number(e.half_width_95);
}

// Of the statistics [first, last) of a row, a comma before each.
template <class Text>
std::string statistics(std::size_t first, std::size_t last, Text&& text) {
  std::string out;
  for (std::size_t k = first; k < last; ++k) out += "," + text(row_statistics()[k]);
  return out;
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-./:", c); };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

ResultRows::ResultRows(const Varied& keys, const Plan& plan, std::string program, bool tables)
    : hyperparameters_(hyperparameter_columns(plan)), program_(std::move(program)), tables_(tables) {
  const std::string varied = columns(keys);
  std::string values;
  for (const std::string& name : hyperparameters_) values += "," + csv_cell(name);
  const std::string lead = varied + "regime,environment,T0,policy,reward" + values;
  const auto names = [](const RowStatistic& statistic) { return statistic.column + "," + statistic.half_width; };
  summary = lead + ",replications,failed,periods" + statistics(0, kStatisticsBefore, names) +
            ",best,published_x1000,published_half_width_95_x1000,inside_joint_95" +
            statistics(kStatisticsBefore, row_statistics().size(), names) + ",lane";
  if (tables)
    for (const PromptStatistic& statistic : kPromptStatistics)
      summary += fmt::format(",{0},{0}_half_width_95", statistic.column);
  summary += tables ? ",told\n" : "\n";
  oracle = varied +
           "regime,environment,u,oracle_utility_x1000,half_width_95_x1000,boxes_queried,boxes_queried_half_width_95,"
           "published_u,published_oracle_utility_x1000,published_half_width_95_x1000,published_boxes_queried\n";
  order = varied +
          "environment,regime,permutations,permutations_half_width_95,max_mass,max_mass_half_width_95,min_mass,"
          "min_mass_half_width_95,published_permutations,published_permutations_half_width_95,published_max_mass,"
          "published_max_mass_half_width_95,published_min_mass,published_min_mass_half_width_95\n";
  curves = lead + ",period,cumulative_regret,half_width_95";
  for (const RegretPart& part : kRegretParts) curves += fmt::format(",{0},{0}_half_width_95", part.name);
  curves += "\n";
  boxes = lead + ",box,queries_per_period,queries_half_width_95,deployments_per_period,deployments_half_width_95\n";
  depth = lead + ",boxes_opened,share_of_periods,half_width_95\n";
  const std::string single = varied + "regime,environment,replication,T0,policy,reward" + values;
  choices = single + ",position,box,threshold\n";
  failures = single + ",seed,period,failure,command\n";
}

std::string ResultRows::values_of(const std::string& hyperparameter) const {
  std::string out;
  for (const std::string& name : hyperparameters_) out += "," + csv_cell(hyperparameter_of(hyperparameter, name));
  return out;
}

std::string ResultRows::lead_of(const SummaryRow& row, const Varied& varied) const {
  return cells(varied) + fmt::format("{},{},{},{},{}", row.regime, row.environment, row.T0, row.policy, row.reward) +
         values_of(row.hyperparameter);
}

void ResultRows::add_summary(const Summary& found, const Varied& varied) {
  for (const SummaryRow& r : found.rows) {
    const auto values = [&r](const RowStatistic& statistic) { return both(statistic.of_row(r)); };
    summary += lead_of(r, varied) + fmt::format(",{},{},{}", r.replications, r.failed, r.periods) +
               statistics(0, kStatisticsBefore, values) +
               fmt::format(",{},{},{},{}", r.best ? 1 : 0, r.published ? fmt::format("{:.2f}", r.published->value) : "",
                           r.published ? fmt::format("{:.2f}", r.published->half_width_95) : "",
                           r.inside_joint_95 ? (*r.inside_joint_95 ? "1" : "0") : "") +
               statistics(kStatisticsBefore, row_statistics().size(), values) + "," + csv_cell(r.lane_name);
    for (const PromptStatistic& statistic : kPromptStatistics)
      if (tables_) summary += "," + (r.prompts ? both((*r.prompts).*statistic.member) : ",");
    summary += tables_ ? (r.prompts ? fmt::format(",{}\n", r.told ? 1 : 0) : ",\n") : "\n";
  }
  for (const OracleRow& r : found.oracle) {
    oracle += cells(varied) + fmt::format("{},{},{},{},{},", r.regime, r.environment,
                                          std::isnan(r.u) ? "" : fmt::format("{:g}", r.u), both(r.utility_x1000),
                                          both(r.boxes_queried));
    oracle += r.published ? fmt::format("{:g},{:.2f},{:.2f},{:.2f}\n", r.published->u, r.published->utility_x1000.value,
                                        r.published->utility_x1000.half_width_95, r.published->boxes_queried.value)
                          : ",,,\n";
  }
  for (const OrderRow& r : found.order) {
    order += cells(varied) + fmt::format("{},{}", r.environment, r.regime);
    for (const Estimate& e : {r.permutations, r.max_mass, r.min_mass}) order += "," + both(e);
    if (r.published)
      for (const PublishedValue& p : {r.published->permutations, r.published->max_mass, r.published->min_mass})
        order += fmt::format(",{:.2f},{:.2f}", p.value, p.half_width_95);
    else
      order += ",,,,,,";
    order += "\n";
  }
}

void ResultRows::add(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results,
                     const Summary& found) {
  add_summary(found, setting.varied);
  for (const SummaryRow& row : found.rows) {
    if (!row.best) continue;
    const std::string lead = lead_of(row, setting.varied);
    if (row.policy != "oracle") add_curves(setting.study, results, row, lead);
    add_boxes(setting.study, results, row, lead);
  }
  if (!setting.study.regret) return;
  add_choices(setting, plan, results);
  add_failures(setting, plan, results);
}

void ResultRows::add_curves(const Study& study, const std::vector<UnitResult>& results, const SummaryRow& row,
                            const std::string& lead) {
  const std::vector<int> periods = checkpoints(study.periods);
  for (std::size_t k = 0; k < periods.size(); ++k) {
    curves +=
        lead + fmt::format(",{},{}", periods[k],
                           both(over_replications(results, row.lane, [k](const LaneTally& best, const LaneTally& own) {
                             return best.curve[k] - own.curve[k];
                           })));
    for (const RegretPart& part : kRegretParts)
      curves += "," + both(over_replications(results, row.lane, [&](const LaneTally&, const LaneTally& own) {
                  return own.regret_curve[k].*part.member;
                }));
    curves += "\n";
  }
}

void ResultRows::add_boxes(const Study& study, const std::vector<UnitResult>& results, const SummaryRow& row,
                           const std::string& lead) {
  const auto share = [&](auto&& count) {
    return both(over_replications(results, row.lane,
                                  [&](const LaneTally&, const LaneTally& own) { return count(own) / own.periods; }));
  };
  for (int a = 0; a < study.dimensions.boxes; ++a)
    boxes += lead + fmt::format(",{},{},{}\n", a + 1, share([a](const LaneTally& t) { return t.queries_of_box[a]; }),
                                share([a](const LaneTally& t) { return t.deployments_of_box[a]; }));
  for (int k = 1; k <= study.dimensions.boxes; ++k)  // one is always opened
    depth += lead + fmt::format(",{},{}\n", k, share([k](const LaneTally& t) { return t.depth[k]; }));
}

std::string ResultRows::lead_of(const Setting& setting, const Unit& unit, const PlannedLane& lane) const {
  return cells(setting.varied) +
         fmt::format("{},{},{},{},{},{}", regime_name(unit.regime), unit.environment.name, unit.replication,
                     lane.policy->uses_calibration ? fmt::format("{}", lane.T0) : "", lane.policy->name,
                     lane.variant.reward) +
         values_of(lane.variant.hyperparameter);
}

void ResultRows::add_choices(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results) {
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    for (std::size_t lane = 0; lane < results[u].notes.size(); ++lane) {
      const LaneNotes& notes = results[u].notes[lane];
      for (std::size_t k = 0; k < notes.list.size(); ++k)
        choices += lead_of(setting, plan.units[u], plan.lanes[lane]) +
                   fmt::format(",{},{},{}\n", k + 1, notes.list[k] + 1,
                               k < notes.thresholds.size() ? fmt::format("{}", notes.thresholds[k]) : "");
    }
}

void ResultRows::add_failures(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results) {
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    for (std::size_t lane = 0; lane < results[u].lanes.size(); ++lane) {
      const LaneTally& tally = results[u].lanes[lane];
      if (tally.failure == Failure::none) continue;
      const Unit& unit = plan.units[u];
      const PlannedLane& planned = plan.lanes[lane];
      std::string command = fmt::format("{} replay study.toml --lane {}", shell_word(program_),
                                        shell_word(unit_name(unit) + "/" + lane_name(planned)));
      if (!setting.varied.empty()) command += " --setting " + shell_word(setting.label());
      failures += lead_of(setting, unit, planned) +
                  fmt::format(",{},{},{},{}\n", setting.study.seed, tally.failed_period,
                              csv_cell(failure_message(tally, results[u].notes[lane])), csv_cell(command));
    }
}

}  // namespace pandora
