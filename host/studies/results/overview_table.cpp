#include "host/studies/results/overview_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/studies/results/policy_titles.hpp"

namespace pandora {
namespace {

Cell mean_cell(const std::vector<double>& values, bool with_range) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  if (values.empty() || !std::isfinite(mean)) return "---";
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const std::string range =
      with_range && values.size() > 1 ? fmt::format(" ({:.2f} to {:.2f})", *least, *greatest) : "";
  const double rounded = std::abs(mean) < 0.005 ? 0.0 : mean;  // no minus before a zero
  return {fmt::format("{:.2f}{}", rounded, range), false, fmt::format("{:.9g}", mean)};
}

std::vector<const RowStatistic*> titled_statistics() {
  std::vector<const RowStatistic*> out;
  for (const RowStatistic& statistic : row_statistics())
    if (statistic.title != nullptr) out.push_back(&statistic);
  return out;
}

// Whether the paper says anything about the base in what is shown; where it does not, a column of dashes would tell
// nothing.
bool has_published(const std::vector<SettingSummary>& settings, const std::string& base) {
  for (const SettingSummary& s : settings)
    for (const SummaryRow& row : s.summary.rows)
      if (row.best && row.policy == base && row.published) return true;
  return false;
}

Row row_of(const Summary& summary, const std::string& regime, const PolicyTitle& title, const std::string& base,
           bool published) {
  const std::vector<const RowStatistic*> shown = titled_statistics();
  std::vector<std::vector<double>> values(shown.size());
  std::vector<double> of_base, of_published;
  for (const SummaryRow& row : summary.rows) {
    if (!row.best || row.regime != regime || row.policy != title.policy || row.reward != title.reward) continue;
    for (std::size_t k = 0; k < shown.size(); ++k) values[k].push_back(shown[k]->of_row(row).mean);
    for (const SummaryRow& other : summary.rows) {
      if (!other.best || other.policy != base || other.reward != row.reward || other.regime != row.regime ||
          other.environment != row.environment || other.T0 != row.T0)
        continue;
      of_base.push_back(row.regret.mean / other.regret.mean);
      if (other.published) of_published.push_back(row.regret.mean / other.published->value);
    }
  }
  if (values[0].empty()) return {};
  Row row{{title.brief, fmt::format("{}", values[0].size())}};
  for (std::size_t k = 0; k < shown.size(); ++k) row.cells.push_back(mean_cell(values[k], k == 0));  // the regret
  if (base.empty()) return row;
  row.cells.push_back(mean_cell(of_base, true));
  if (published) row.cells.push_back(mean_cell(of_published, true));
  return row;
}

}  // namespace

std::string usual_base(const SettingSummary& settings) {
  std::vector<std::string> listed = settings.setting.study.policies;
  if (listed.empty()) listed = {"dow"};
  std::vector<std::string> there;
  for (const SummaryRow& row : settings.summary.rows)
    if (row.policy != "oracle") there.push_back(row.policy);
  listed.insert(listed.end(), there.begin(), there.end());
  std::erase_if(listed, [&](const std::string& p) { return std::find(there.begin(), there.end(), p) == there.end(); });
  const std::vector<PolicyTitle> titles = policy_titles(settings.summary);
  const auto competes = std::find_if(listed.begin(), listed.end(), [&](const std::string& policy) {
    return std::any_of(titles.begin(), titles.end(),
                       [&](const PolicyTitle& t) { return t.policy == policy && !t.yardstick; });
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
      bool first = true;
      for (const PolicyTitle& title : policy_titles(s.summary)) {
        Row row = row_of(s.summary, name, title, base, published);
        if (row.cells.empty()) continue;
        if (first)
          table.rows.push_back(
              {{},
               fmt::format("{}{}{}", label, label.empty() ? "" : ", ",
                           of_table(s.setting.study) ? s.setting.study.environments[0].name : "regime " + name),
               !table.rows.empty()});
        first = false;
        table.rows.push_back(std::move(row));
      }
    }
  table.notes = {
      "The parts add up to the regret: a wrong order of boxes, querying stopped too early, too many boxes "
      "opened, a wrong output deployed."};
  return table;
}

}  // namespace pandora
