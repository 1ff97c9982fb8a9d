#include "host/report/cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/tables/table.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/study/environment_keys.hpp"

namespace pandora {
namespace {

using Names = std::vector<std::string>;

// The values of each kind that a folder has; only those that a comparison asks for, if it does.
struct Offer {
  Names settings, cells, T0, policies;

  Offer(const StoredResults& results, const CompareOptions& asked) {
    for (const PlannedSetting& planned : results.settings()) {
      const Study& study = planned.setting.study;
      add_new(settings, planned.setting.varied.empty() ? "one without [vary]" : planned.setting.label());
      for (const Environment& environment : study.environments)
        for (const Regime regime : study.regimes)
          if (wanted(asked.environments, environment.name) && wanted(asked.regimes, regime_name(regime)))
            add_new(cells, fmt::format("{}/{}", environment.name, regime_name(regime)));
      for (const int value : study.T0)
        if (wanted(asked.T0, value)) add_new(T0, fmt::format("{}", value));
      for (const PlannedLane& lane : planned.plan.lanes) {
        const std::string name = lane.policy->name + "/" + lane.variant.reward;
        if (lane.policy->name != "oracle" &&
            (wanted(asked.policies, name) || wanted(asked.policies, lane.policy->name)))
          add_new(policies, name);
      }
    }
  }
};

std::string list_text(const Names& names) {
  return names.empty() ? "none that was asked for" : fmt::format("{}", fmt::join(names, ", "));
}

// The difference between the tapes of two studies; empty if they are the same.
std::string tape_difference(const Study& a, const Study& b) {
  const auto differs = [](const std::string& what, const auto& here, const auto& there) {
    return fmt::format("{} is {} there and {} here", what, here, there);
  };
  if (a.seed != b.seed) return differs("seed", a.seed, b.seed);
  if (a.periods != b.periods) return differs("periods", a.periods, b.periods);
  const auto text = [](const Dimensions& d) {
    return fmt::format("{}/{}/{}/{}/{}", d.boxes, d.context, d.output, d.reward_features, d.radius_draws);
  };
  if (!(a.dimensions == b.dimensions))
    return differs("dimensions (boxes/context/output/reward_features/radius_draws)", text(a.dimensions),
                   text(b.dimensions));
  for (const Environment& e : a.environments)
    for (const Environment& other : b.environments)
      if (const auto there = options_of(other); e.name == other.name)
        for (const auto& [key, value] : options_of(e))
          if (there.count(key) == 0 || there.at(key) != value)
            return differs("environment." + e.name + "." + key, value,
                           there.count(key) == 0 ? "absent" : there.at(key));
  return "";
}

void require_no(const std::string& difference, const StoredResults& first, const StoredResults& second) {
  if (!difference.empty())
    fail(ExitCode::mismatch, "{} and {} do not share tapes: {}; only results on the same draws can be paired",
         first.path(), second.path(), difference);
}

}  // namespace

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
      LaneSeries series;
      if (const TraceKeys* keys = trace_keys(cell.environment); keys != nullptr)
        series.by_prompt =
            utility_by_prompt(units, lane, keys->price, results.settings()[setting].setting.study.actions);
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
    auto own = std::ranges::find_if(out, [&](const Contender& c) { return c.reward == planned.variant.reward; });
    if (own == out.end()) own = out.insert(out.end(), {policy, planned.variant.reward, {}});
    own->lanes.push_back(lane);
  }
  return out;
}

std::vector<std::size_t> common_replications(const CellSeries& cell, const std::vector<std::size_t>& lanes) {
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < cell.lanes[0].utility.size(); ++r)
    if (!std::isnan(cell.lanes[0].utility[r]) &&
        std::ranges::none_of(lanes, [&](std::size_t l) { return std::isnan(cell.lanes[l].utility[r]); }))
      out.push_back(r);
  return out;
}

PolicyName parse_policy_name(const std::string& text, const Plan& plan, const char* name_of_option) {
  const std::size_t slash = text.find('/');
  PolicyName name{text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
  std::vector<std::string> known;
  for (const PlannedLane& lane : plan.lanes)
    for (const std::string& own : {lane.policy->name, lane.policy->name + "/" + lane.variant.reward})
      add_new(known, own);
  if (!has(known, text))
    fail(ExitCode::usage, "{}: the results have no such policy{}; they have {}", option(name_of_option, text),
         nearest_text(nearest(text, known)), fmt::join(known, ", "));
  return name;
}

void require_T0(const std::vector<int>& asked, const Study& study) {
  for (const int T0 : asked)
    if (!has(study.T0, T0))
      fail(ExitCode::usage, "{}: the results have T0 = {}", option("t0", T0), fmt::join(study.T0, ", "));
}

void require_names(const CompareOptions& options, const std::vector<PlannedSetting>& settings) {
  std::vector<std::string> environments;
  for (const PlannedSetting& planned : settings)
    for (const Environment& e : planned.setting.study.environments) add_new(environments, e.name);
  for (const std::string& name : options.environments)
    if (!has(environments, name))
      fail(ExitCode::usage, "{}: the results have none of that name{}", option("environment", name),
           nearest_text(nearest(name, environments)));
  for (const std::string& name : options.regimes)
    if (name != "A" && name != "B") fail(ExitCode::usage, "{}: use A, B", option("regime", name));
  require_T0(options.T0, settings[0].setting.study);
}

std::string interval_text(const AsymmetricInterval& interval, int decimals) {
  return interval.known()
             ? fmt::format("{} to {}", number_text(interval.low, decimals), number_text(interval.high, decimals))
             : "---";
}

void require_common_tapes(const StoredResults& first, const StoredResults& second, const Study& a, const Study& b) {
  require_no(tape_difference(a, b), first, second);
}

void refuse_policies(const StoredResults& results, const CompareOptions& options) {
  const Offer offer(results, options);
  if (offer.cells.empty())
    fail(ExitCode::usage, "compare: {} has no cell of {} and {}; it has {}", results.path(),
         option("environment", fmt::format("{}", fmt::join(options.environments, ","))),
         option("regime", fmt::format("{}", fmt::join(options.regimes, ","))), list_text(Offer(results, {}).cells));
  const PlannedSetting& planned = results.settings()[0];
  Names where;
  for (const std::string& text : options.policies) {
    const PolicyName name = parse_policy_name(text, planned.plan);
    Names at;
    for (const int T0 : planned.setting.study.T0)
      if (!contenders(planned.plan, T0, name.policy, name.reward).empty()) add_new(at, fmt::format("{}", T0));
    where.push_back(fmt::format("{} runs at T0 = {}", text, list_text(at)));
  }
  fail(ExitCode::usage, "compare: {} is compared with none of the others at T0 = {}: {}", options.policies[0],
       fmt::join(offer.T0, ", "), fmt::join(where, "; "));
}

void refuse_folders(const StoredResults& first, const StoredResults& second, const CompareOptions& options) {
  std::string difference;
  bool shared = false;
  for (const PlannedSetting& here : first.settings())
    for (const PlannedSetting& there : second.settings()) {
      const std::string found = tape_difference(here.setting.study, there.setting.study);
      shared = shared || found.empty();
      if (difference.empty()) difference = found;
    }
  if (!shared) require_no(difference, first, second);
  const Offer here(first, options), there(second, {});
  const auto require_common = [&](const char* what, const Names& a, const Names& b) {
    if (std::ranges::none_of(a, [&](const std::string& x) { return wanted(b, x); }))
      fail(ExitCode::usage, "compare: {} and {} have no {} in common: {} there, {} here", first.path(), second.path(),
           what, list_text(a), list_text(b));
  };
  require_common("setting (the values of the keys under [vary])", here.settings, there.settings);
  require_common("environment and regime", here.cells, there.cells);
  require_common("T0", here.T0, there.T0);
  require_common("policy", here.policies, there.policies);
  fail(ExitCode::usage,
       "compare: {} and {} have no cell (setting, environment, regime, T0) in common in which both have one of {}",
       first.path(), second.path(), list_text(here.policies));
}

}  // namespace pandora
