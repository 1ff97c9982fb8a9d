#include "host/report/cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/ground/base/nearest.hpp"
#include "host/ground/tables/numbers.hpp"
#include "pandora/error.hpp"

namespace pandora {

std::vector<double> CellSeries::regrets(std::size_t lane, const std::vector<std::size_t>& which) const {
  std::vector<double> out;
  for (const std::size_t r : which) out.push_back(lanes[0].utility[r] - lanes[lane].utility[r]);
  return out;
}

std::vector<CellSeries> cell_series(StoredResults& results) {
  std::vector<CellSeries> cells;
  results.for_each_group([&](std::size_t setting, const Plan& plan, const std::vector<UnitResult>& units) {
    CellSeries cell{setting, regime_name(plan.units[0].regime), plan.units[0].environment, {}};
    for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      LaneSeries series{lane, {}, {}};
      if (const TraceKeys* keys = trace_keys(cell.environment); keys != nullptr)
        series.by_prompt = utility_by_prompt(units, lane, keys->price);
      for (const UnitResult& unit : units)
        series.utility.push_back(counts(unit, lane) ? 1000.0 * unit.lanes[lane].utility / unit.lanes[lane].periods
                                                    : std::nan(""));
      cell.lanes.push_back(std::move(series));
    }
    cells.push_back(std::move(cell));
  });
  return cells;
}

std::vector<Contender> contenders(const Plan& plan, int T0, const std::string& policy, const std::string& reward) {
  std::vector<Contender> out;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    const PlannedLane& planned = plan.lanes[lane];
    if (planned.policy->name != policy || (!reward.empty() && planned.variant.reward != reward)) continue;
    if (planned.policy->uses_calibration && planned.T0 != T0) continue;
    auto own =
        std::find_if(out.begin(), out.end(), [&](const Contender& c) { return c.reward == planned.variant.reward; });
    if (own == out.end()) own = out.insert(out.end(), {policy, planned.variant.reward, {}});
    own->lanes.push_back(lane);
  }
  return out;
}

std::vector<std::size_t> common_replications(const CellSeries& cell, const std::vector<std::size_t>& lanes) {
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < cell.lanes[0].utility.size(); ++r)
    if (!std::isnan(cell.lanes[0].utility[r]) &&
        std::none_of(lanes.begin(), lanes.end(), [&](std::size_t l) { return std::isnan(cell.lanes[l].utility[r]); }))
      out.push_back(r);
  return out;
}

PolicyName parse_policy_name(const std::string& text, const Plan& plan) {
  const std::size_t slash = text.find('/');
  const PolicyName name{text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
  std::vector<std::string> known;
  for (const PlannedLane& lane : plan.lanes)
    for (const std::string& own : {lane.policy->name, lane.policy->name + "/" + lane.variant.reward})
      add_new(known, own);
  if (!has(known, text))
    throw Error(ExitCode::usage, fmt::format("--policy {}: the results have no such policy{}; they have {}", text,
                                             nearest_text(nearest(text, known)), fmt::join(known, ", ")));
  return name;
}

void require_T0(const std::vector<int>& asked, const Study& study) {
  for (const int T0 : asked)
    if (!has(study.T0, T0))
      throw Error(ExitCode::usage, fmt::format("--t0 {}: the results have T0 = {}", T0, fmt::join(study.T0, ", ")));
}

void require_names(const CompareOptions& options, const std::vector<PlannedSetting>& settings) {
  std::vector<std::string> environments;
  for (const PlannedSetting& planned : settings)
    for (const Environment& e : planned.setting.study.environments) add_new(environments, e.name);
  for (const std::string& name : options.environments)
    if (!has(environments, name))
      throw Error(ExitCode::usage, fmt::format("--environment {}: the results have none of that name{}", name,
                                               nearest_text(nearest(name, environments))));
  for (const std::string& name : options.regimes)
    if (name != "A" && name != "B") throw Error(ExitCode::usage, fmt::format("--regime {}: use A, B", name));
  require_T0(options.T0, settings[0].setting.study);
}

std::string interval_text(const AsymmetricInterval& interval, int decimals) {
  return interval.known()
             ? fmt::format("{} to {}", number_text(interval.low, decimals), number_text(interval.high, decimals))
             : "---";
}

}  // namespace pandora
