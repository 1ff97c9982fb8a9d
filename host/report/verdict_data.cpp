// A verdict for programs: a quantity in each column, as CSV or JSON.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/report/verdict.hpp"

namespace pandora {
namespace {

using nlohmann::json;
using Record = std::vector<std::pair<std::string, json>>;  // columns in order

json number_or_null(double value) {
  return std::isfinite(value) ? json(value) : json();
}

const char* kind_name(NumberKind kind) {
  switch (kind) {
    case NumberKind::regret:
      return "regret_x1000";
    case NumberKind::utility:
      return "oracle_utility_x1000";
    case NumberKind::boxes:
      return "boxes_queried";
    case NumberKind::permutations:
      return "permutations";
    case NumberKind::greatest_mass:
      return "max_mass";
    case NumberKind::least_mass:
      return "min_mass";
  }
  return "";
}

void add_judgement(Record& out, const std::string& before, const Judgement& judgement) {
  out.insert(out.end(), {{before + "ours", number_or_null(judgement.ours.mean)},
                         {before + "half_width_95", number_or_null(judgement.ours.half_width_95)},
                         {before + "published_half_width_95", number_or_null(judgement.published_half_width_95)},
                         {before + "z", number_or_null(judgement.z)},
                         {before + "inside_joint_95", std::isnan(judgement.z) ? json() : json(judgement.inside)}});
}

std::vector<Record> number_records(const Verdict& verdict) {
  std::vector<Record> out;
  for (const JudgedNumber& number : verdict.numbers) {
    const bool regret = number.kind == NumberKind::regret;
    Record record = {{"number", kind_name(number.kind)},
                     {"regime", number.regime},
                     {"environment", number.environment},
                     {"policy", regret ? json(number.row.policy) : json()},
                     {"reward", regret && *number.row.reward != 0 ? json(number.row.reward) : json()},
                     {"T0", regret ? json(number.T0) : json()},
                     {"published", number_or_null(number.published.value)}};
    add_judgement(record, "", number.plain);
    add_judgement(record, "adjusted_", number.adjusted);
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<Record> row_records(const Verdict& verdict) {
  std::vector<Record> out;
  for (const RowVerdict& row : verdict.rows)
    out.push_back({{"policy", row.row.policy},
                   {"reward", *row.row.reward != 0 ? json(row.row.reward) : json()},
                   {"cells", row.cells},
                   {"inside_joint_95", row.inside},
                   {"ratio", number_or_null(row.ratio.mean)},
                   {"ratio_half_width_95", number_or_null(row.ratio.half_width_95)},
                   {"rms_z", number_or_null(row.rms_z)},
                   {"adjusted_inside_joint_95", std::isnan(row.adjusted_rms_z) ? json() : json(row.adjusted_inside)},
                   {"adjusted_ratio", number_or_null(row.adjusted_ratio.mean)},
                   {"adjusted_ratio_half_width_95", number_or_null(row.adjusted_ratio.half_width_95)},
                   {"adjusted_rms_z", number_or_null(row.adjusted_rms_z)}});
  return out;
}

// A record per set; set 0 is the paper.
std::vector<Record> count_records(const Verdict& verdict) {
  std::vector<Record> out;
  for (const CountVerdict& count : verdict.counts)
    for (std::size_t set = 0; set <= count.sets.size(); ++set) {
      const double rms = set == 0 ? count.rms_z : count.sets_rms_z[set - 1];
      const double inside = set == 0 ? count.published : count.sets[set - 1];
      out.push_back({{"numbers", count.what},
                     {"adjusted", count.adjusted},
                     {"of", count.of},
                     {"published", set == 0 ? json("paper") : json(fmt::format("set {}", set))},
                     {"inside_joint_95", std::isnan(rms) ? json() : json(inside)},
                     {"rms_z", number_or_null(rms)}});
    }
  return out;
}

std::vector<Record> finding_records(const Verdict& verdict) {
  std::vector<Record> out;
  for (const Finding& finding : verdict.findings)
    for (const FindingCell& cell : finding.cells)
      out.push_back({{"finding", finding.label()},
                     {"statement", finding.statement},
                     {"cell", cell.cell},
                     {"compared", cell.compared},
                     {"difference_of", finding.difference},
                     {"difference", number_or_null(cell.difference.mean)},
                     {"half_width_95", number_or_null(cell.difference.half_width_95)},
                     {"holds", cell.holds == Holds::yes  ? "yes"
                               : cell.holds == Holds::no ? "no"
                                                         : "open"},
                     {"means_agree", cell.mean_agrees},
                     {"published_means_agree", cell.published ? json(*cell.published) : json()}});
  return out;
}

std::vector<Record> price_records(const Verdict& verdict) {
  std::vector<Record> out;
  for (const PriceOfUnknown& price : verdict.prices)
    out.push_back(
        {{"policy", price.policy},
         {"regime", price.regime},
         {"cells", price.cells},
         {"ours", number_or_null(price.ours.mean)},
         {"half_width_95", number_or_null(price.ours.half_width_95)},
         {"published", price.published ? number_or_null(price.published->mean) : json()},
         {"published_half_width_95", price.published ? number_or_null(price.published->half_width_95) : json()},
         {"z", number_or_null(price.z)},
         {"p", number_or_null(price.p)}});
  return out;
}

std::vector<Record> records(const std::vector<Verdict>& verdicts, const std::string& part) {
  const auto of = part == "numbers"    ? number_records
                  : part == "rows"     ? row_records
                  : part == "counts"   ? count_records
                  : part == "findings" ? finding_records
                                       : price_records;
  std::vector<Record> out;
  for (const Verdict& verdict : verdicts)
    for (Record& record : of(verdict)) {
      record.insert(record.begin(), {"replications", verdict.least});
      if (verdicts.size() > 1) record.insert(record.begin(), {"setting", verdict.setting});
      out.push_back(std::move(record));
    }
  return out;
}

std::string csv_text(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_number_float() ? fmt::format("{:.9g}", value.get<double>()) : value.dump();
}

}  // namespace

Table verdict_csv(const std::vector<Verdict>& verdicts, const std::string& part) {
  Table table;
  table.label = part;
  for (const Record& record : records(verdicts, part)) {
    const bool first = table.columns.empty();
    Row row;
    for (const auto& [column, value] : record) {
      if (first) table.columns.push_back(column);
      row.cells.push_back(csv_text(value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

json verdict_json(const std::vector<Verdict>& verdicts, const std::string& only) {
  json out = json::object();
  for (const std::string& part : verdict_parts()) {
    if (!only.empty() && part != only) continue;
    out[part] = json::array();
    for (const Record& record : records(verdicts, part)) {
      json object = json::object();
      for (const auto& [column, value] : record) object[column] = value;
      out[part].push_back(std::move(object));
    }
  }
  return out;
}

}  // namespace pandora
