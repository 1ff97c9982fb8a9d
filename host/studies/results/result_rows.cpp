// The fields of a row in each file.
#include "host/studies/results/result_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "host/ground/base/printable.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

constexpr const char* kAsPublished = "{:.2f}";

// A field for data frames only, because it repeats other columns.
Field aside(Field field) {
  field.in_csv = false;
  return field;
}

Fields setting_fields(const Varied& varied) {
  Fields row;
  if (!varied.empty()) row.push_back(aside({"setting", Setting{varied, {}}.label()}));
  for (const auto& [key, value] : varied) row.emplace_back(key, value);
  return row;
}

void append_half(Fields& row, const std::string& name, const Estimate& estimate) {
  append(row, name, name + "_half_width_95", estimate);
}

void append_published(Fields& row, const std::string& name, const PublishedValue& value) {
  append(row, {{"published_" + name, value.value, kAsPublished},
               {"published_" + name + "_half_width_95", value.half_width_95, kAsPublished}});
}

Fields oracle_fields(const OracleRow& r, const Varied& varied) {
  const PublishedOracle published = r.published.value_or(PublishedOracle{});
  Fields row = setting_fields(varied);
  append(row, {{"regime", r.regime}, {"environment", r.environment}, {"u", r.u, "{:g}"}});
  append(row, "oracle_utility_x1000", "half_width_95_x1000", r.utility_x1000);
  append_half(row, "boxes_queried", r.boxes_queried);
  append(row, {{"published_u", published.u, "{:g}"},
               {"published_oracle_utility_x1000", published.utility_x1000.value, kAsPublished},
               {"published_half_width_95_x1000", published.utility_x1000.half_width_95, kAsPublished},
               {"published_boxes_queried", published.boxes_queried.value, kAsPublished}});
  return row;
}

Fields order_fields(const OrderRow& r, const Varied& varied) {
  const PublishedOrder published = r.published.value_or(PublishedOrder{});
  Fields row = setting_fields(varied);
  append(row, {{"environment", r.environment}, {"regime", r.regime}});
  append_half(row, "permutations", r.permutations);
  append_half(row, "max_mass", r.max_mass);
  append_half(row, "min_mass", r.min_mass);
  append_published(row, "permutations", published.permutations);
  append_published(row, "max_mass", published.max_mass);
  append_published(row, "min_mass", published.min_mass);
  return row;
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-./:", c); };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

ResultRows::ResultRows(const Varied& keys, const Plan& plan, std::string program, bool tables)
    : hyperparameters_(hyperparameter_columns(plan)), program_(std::move(program)), tables_(tables) {
  for (const PlannedLane& lane : plan.lanes)
    for (const auto& [name, value] : hyperparameter_values(lane.variant.hyperparameter))
      if (!number_of(value)) texts_.insert(name);
  // Files without rows have a header too, taken from made-up rows.
  Setting setting{keys, {}};
  setting.study.dimensions.boxes = setting.study.periods = 1;
  add_summary({{{}}, {{}}, {{}}}, keys);
  add_row(setting, {}, {});
  const Policy policy;
  PlannedLane lane;
  lane.policy = &policy;
  LaneTally tally{};
  tally.failure = Failure::policy;
  LaneNotes notes;
  notes.list = {0};
  add_lane(setting, {}, lane, tally, notes);
  for (auto& [name, columns] : files) columns.drop_rows();
}

Fields ResultRows::lead_of(const Varied& varied, const std::string& regime, const std::string& environment,
                           std::optional<std::uint32_t> replication, double T0, const std::string& policy,
                           const std::string& reward, const std::string& hyperparameter) const {
  Fields row = setting_fields(varied);
  append(row, {{"regime", regime}, {"environment", environment}});
  if (replication) row.emplace_back("replication", *replication);
  append(row, {replication ? Field("T0", T0, "{}") : Field("T0", static_cast<int>(T0)),
               {"policy", policy},
               {"reward", reward},
               aside({"hyperparameter", hyperparameter})});
  for (const std::string& name : hyperparameters_) {
    const std::string text = hyperparameter_of(hyperparameter, name);
    if (texts_.contains(name))
      row.emplace_back(name, text);
    else
      row.emplace_back(name, number_of(text).value_or(kUnknown)).text = text;
  }
  return row;
}

Fields ResultRows::lead_of(const SummaryRow& row, const Varied& varied) const {
  return lead_of(varied, row.regime, row.environment, {}, row.T0, row.policy, row.reward, row.hyperparameter);
}

Fields ResultRows::summary_fields(const SummaryRow& r, const Varied& varied) {
  const PublishedValue published = r.published.value_or(PublishedValue{});
  Fields row = lead_of(r, varied);
  append(row, {{"replications", r.replications}, {"failed", r.failed}, {"periods", r.periods}});
  for (std::size_t k = 0; k < row_statistics().size(); ++k) {
    const RowStatistic& statistic = row_statistics()[k];
    if (k == kStatisticsBefore)
      append(row, {{"best", r.best},
                   {"published_x1000", published.value, kAsPublished},
                   {"published_half_width_95_x1000", published.half_width_95, kAsPublished},
                   {"inside_joint_95", r.inside_joint_95 ? *r.inside_joint_95 + 0.0 : kUnknown, "{}"}});
    append(row, statistic.column, statistic.half_width, statistic.of_row(r));
  }
  append(row, {{"lane", r.lane_name}, aside({"lane_number", r.lane}), aside({"row", files["summary"].rows()})});
  if (!tables_) return row;
  for (const PromptStatistic& statistic : kPromptStatistics)
    append_half(row, statistic.column, r.prompts ? (*r.prompts).*statistic.member : Estimate{kUnknown});
  row.emplace_back("told", r.prompts ? r.told + 0.0 : kUnknown, "{}");
  return row;
}

void ResultRows::add_summary(const Summary& found, const Varied& varied) {
  for (const SummaryRow& row : found.rows) files["summary"].add(summary_fields(row, varied));
  for (const OracleRow& row : found.oracle) files["oracle"].add(oracle_fields(row, varied));
  for (const OrderRow& row : found.order) files["oracle_order"].add(order_fields(row, varied));
}

void ResultRows::add(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results,
                     const Summary& found) {
  add_summary(found, setting.varied);
  for (const SummaryRow& row : found.rows)
    if (row.best) add_row(setting, results, row);
  if (setting.study.regret) add_lanes(setting, plan, results);
}

void ResultRows::add_row(const Setting& setting, const std::vector<UnitResult>& results, const SummaryRow& row) {
  const Fields lead = lead_of(row, setting.varied);
  const auto mean = [&](auto&& of) { return over_replications(results, row.lane, of); };
  const std::vector<int> periods = checkpoints(setting.study.periods);
  for (std::size_t k = 0; row.policy != "oracle" && k < periods.size(); ++k) {
    Fields curve = lead;
    curve.emplace_back("period", periods[k]);
    append(curve, "cumulative_regret", "half_width_95",
           mean([k](const LaneTally& best, const LaneTally& own) { return best.curve[k] - own.curve[k]; }));
    for (const RegretPart& part : kRegretParts)
      append_half(curve, part.name,
                  mean([&](const LaneTally&, const LaneTally& own) { return own.regret_curve[k].*part.member; }));
    files["curves"].add(curve);
  }
  const auto share = [&](auto&& count) {
    return mean([&](const LaneTally&, const LaneTally& own) { return count(own) / own.periods; });
  };
  for (int a = 0; a < setting.study.dimensions.boxes; ++a) {
    Fields box = lead, opened = lead;
    box.emplace_back("box", a + 1);
    append(box, "queries_per_period", "queries_half_width_95",
           share([a](const LaneTally& t) { return t.queries_of_box[a]; }));
    append(box, "deployments_per_period", "deployments_half_width_95",
           share([a](const LaneTally& t) { return t.deployments_of_box[a]; }));
    files["boxes"].add(box);
    opened.emplace_back("boxes_opened", a + 1);  // one box is always opened
    append(opened, "share_of_periods", "half_width_95", share([a](const LaneTally& t) { return t.depth[a + 1]; }));
    files["depth"].add(opened);
  }
}

void ResultRows::add_lanes(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results) {
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    for (std::size_t lane = 0; lane < results[u].lanes.size(); ++lane)
      add_lane(setting, plan.units[u], plan.lanes[lane], results[u].lanes[lane], results[u].notes[lane]);
}

void ResultRows::add_lane(const Setting& setting, const Unit& unit, const PlannedLane& lane, const LaneTally& tally,
                          const LaneNotes& notes) {
  if (notes.list.empty() && tally.failure == Failure::none) return;
  const Fields lead = lead_of(setting.varied, regime_name(unit.regime), unit.environment.name, unit.replication,
                              lane.policy->uses_calibration ? lane.T0 : kUnknown, lane.policy->name,
                              lane.variant.reward, lane.variant.hyperparameter);
  for (std::size_t k = 0; k < notes.list.size(); ++k) {
    Fields choice = lead;
    append(choice, {{"position", k + 1},
                    {"box", notes.list[k] + 1},
                    {"threshold", k < notes.thresholds.size() ? notes.thresholds[k] : kUnknown, "{}"}});
    files["choices"].add(choice);
  }
  if (tally.failure == Failure::none) return;
  const std::string name = unit_name(unit) + "/" + lane_name(lane);
  std::string command = fmt::format("{} replay study.toml --lane {}", shell_word(program_), shell_word(name));
  if (!setting.varied.empty()) command += " --setting " + shell_word(setting.label());
  Fields failed = lead;
  append(failed, {{"seed", setting.study.seed},
                  {"period", tally.failed_period},
                  {"failure", failure_message(tally, notes)},
                  {"command", command},
                  aside({"lane", name})});
  files["failures"].add(failed);
}

}  // namespace pandora
