#include "host/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "host/ground/base/fail.hpp"
#include "host/report/cells.hpp"

namespace pandora {
namespace {

// The lanes of a contender that were run in the most replications. Means over fewer replications are not comparable
// with theirs.
std::vector<std::size_t> complete_lanes(const CellSeries& cell, const Contender& who) {
  std::vector<std::size_t> out;
  std::size_t most = 0;
  for (const std::size_t lane : who.lanes) {
    const std::size_t n = common_replications(cell, {lane}).size();
    if (n > most) out.clear();
    most = std::max(most, n);
    if (n == most) out.push_back(lane);
  }
  return out;
}

ComparedSide judge(const CellSeries& cell, const std::vector<std::size_t>& lanes,
                   const std::vector<std::size_t>& which) {
  std::vector<std::vector<double>> regrets;
  for (const std::size_t lane : lanes) regrets.push_back(cell.regrets(lane, which));
  ComparedSide out;
  out.choices = lanes.size();
  for (const std::vector<double>& own : regrets) {
    const double mean = estimate(own).mean;
    if (out.best.empty() || mean < out.mean) {
      out.best = own;
      out.mean = mean;
      out.by_prompt = cell.lanes[lanes[static_cast<std::size_t>(&own - regrets.data())]].by_prompt;
    }
  }
  out.fit = cross_fit(regrets);
  return out;
}

// One side of a row: a contender in a cell, and its name.
struct Entrant {
  const CellSeries& cell;
  const Contender& who;
  std::string name;
};

// Adds a row for two sides, over the replications that both have. Without T0 both ignore the calibration.
void add_row(std::vector<ComparedPair>& pairs, const Setting& setting, std::optional<int> T0, const Entrant& a,
             const Entrant& b) {
  const std::vector<std::size_t> own = complete_lanes(a.cell, a.who), others = complete_lanes(b.cell, b.who);
  const std::vector<std::size_t> here = common_replications(a.cell, own), there = common_replications(b.cell, others);
  std::vector<std::size_t> which;
  std::set_intersection(here.begin(), here.end(), there.begin(), there.end(), std::back_inserter(which));
  ComparedRow row{setting.label(),           a.cell.environment.name,     a.cell.regime, T0, setting.study.replications,
                  judge(a.cell, own, which), judge(b.cell, others, which)};
  row.paired = paired_difference(row.a.best, row.b.best);
  std::vector<double> differences;
  for (std::size_t r = 0; r < row.a.best.size(); ++r) differences.push_back(row.a.best[r] - row.b.best[r]);
  row.bootstrap = bootstrap_interval(differences);
  if (const SumsByPrompt& x = row.a.by_prompt, &y = row.b.by_prompt; !x.sums.empty() && x.periods == y.periods) {
    SumsByPrompt difference = y;  // for regrets: the utility of b minus that of a
    for (std::size_t p = 0; p < difference.sums.size(); ++p)
      difference.sums[p] = 1000.0 * (difference.sums[p] - x.sums[p]);
    row.over_prompts = difference.estimate();
  }
  auto pair = std::ranges::find_if(pairs, [&](const ComparedPair& p) { return p.a == a.name && p.b == b.name; });
  if (pair == pairs.end()) pair = pairs.insert(pairs.end(), {a.name, b.name, {}});
  pair->rows.push_back(std::move(row));
}

// Whether the lanes are the same for all T_0.
bool ignores_calibration(const Plan& plan, const Contender& who) {
  return !plan.lanes[who.lanes[0]].policy->uses_calibration;
}

// The T_0 of a cell that are compared; none if nothing of the cell is asked for.
std::vector<int> asked_T0(const CompareOptions& options, const CellSeries& cell, std::vector<int> all) {
  const bool any = wanted(options.environments, cell.environment.name) && wanted(options.regimes, cell.regime);
  std::erase_if(all, [&](int T0) { return !any || !wanted(options.T0, T0); });
  return all;
}

void require_rows(const std::vector<ComparedPair>& pairs) {
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows)
      if (row.paired.n > 0) return;
  throw Error(
      ExitCode::bad_data,
      "compare: there is no replication in which both policies and the oracle were run to their end; failures.csv says "
      "which lanes failed");
}

void require_policies(const StoredResults& results) {
  if (!results.settings()[0].setting.study.regret)
    throw Error(ExitCode::usage, results.path() + ": its study simulates no policies (output.regret = false)");
}

// The oracle depends only on the tape: if the oracles disagree, the draws differ.
void require_common_oracle(const StoredResults& first, const StoredResults& second, const CellSeries& a,
                           const CellSeries& b) {
  constexpr double kTolerance = 1.0;  // x 1000, per period: another grid may differ by less
  const std::size_t n = std::min(a.lanes[0].utility.size(), b.lanes[0].utility.size());
  for (std::size_t r = 0; r < n; ++r) {
    const double x = a.lanes[0].utility[r], y = b.lanes[0].utility[r];
    if (std::abs(x - y) > kTolerance)  // also for NaN, where a value is missing
      fail(ExitCode::mismatch,
           "{} and {} do not share tapes: the oracle's utility x 1000 in {}/{}/{} is {:.4f} there and {:.4f} here",
           first.path(), second.path(), a.environment.name, a.regime, r, x, y);
  }
}

// The setting of the other folder that is compared with `planned`; there.end() if there is none.
std::vector<PlannedSetting>::const_iterator matching_setting(const std::vector<PlannedSetting>& here,
                                                             const std::vector<PlannedSetting>& there,
                                                             const PlannedSetting& planned) {
  if (here.size() == 1 && there.size() == 1) return there.begin();
  return std::ranges::find_if(there, [&](const PlannedSetting& p) {
    const Study &own = planned.setting.study, &other = p.setting.study;
    return p.setting.label() == planned.setting.label() && of_table(other) == of_table(own) &&
           (!of_table(own) || other.environments[0].name == own.environments[0].name);
  });
}

}  // namespace

std::vector<ComparedPair> compare_policies(StoredResults& results, const CompareOptions& options) {
  if (options.policies.size() < 2)
    fail(ExitCode::usage, "{}: name two or more to compare, such as dow,online_plugin", option("policy"));
  require_policies(results);
  require_names(options, results.settings());
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) names.push_back(parse_policy_name(text, results.settings()[0].plan));
  std::vector<ComparedPair> pairs;
  for (const CellSeries& cell : cell_series(results)) {
    const auto& [setting, plan, number] = results.settings()[cell.setting];
    const std::vector<int> all_T0 = asked_T0(options, cell, setting.study.T0);
    for (const int T0 : all_T0)
      for (std::size_t other = 1; other < names.size(); ++other) {
        const auto as = contenders(plan, T0, names[0].policy, names[0].reward),
                   bs = contenders(plan, T0, names[other].policy, names[other].reward);
        const bool common = std::ranges::any_of(as, [&](const Contender& a) {
          return std::ranges::any_of(bs, [&](const Contender& b) { return a.reward == b.reward; });
        });
        for (const Contender& a : as)
          for (const Contender& b : bs) {
            if (common && a.reward != b.reward) continue;  // compares equal reward settings if there are some
            const bool any_T0 = ignores_calibration(plan, a) && ignores_calibration(plan, b);
            if (any_T0 && T0 != all_T0[0]) continue;  // the same lanes again
            add_row(pairs, setting, any_T0 ? std::nullopt : std::optional(T0), {cell, a, a.name()},
                    {cell, b, b.name()});
          }
      }
  }
  if (pairs.empty()) refuse_policies(results, options);
  require_rows(pairs);
  return pairs;
}

std::vector<ComparedPair> compare_folders(StoredResults& first, StoredResults& second, const CompareOptions& options) {
  const auto &here = first.settings(), &there = second.settings();
  require_policies(first);
  require_policies(second);
  require_names(options, here);
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) {
    names.push_back(parse_policy_name(text, here[0].plan));
    (void)parse_policy_name(text, there[0].plan);
  }
  const std::vector<CellSeries> ours = cell_series(first), theirs = cell_series(second);
  std::vector<ComparedPair> pairs;
  for (const CellSeries& a : ours) {
    const auto& [setting, plan, number] = here[a.setting];
    const auto other = matching_setting(here, there, here[a.setting]);
    if (other == there.end()) continue;
    require_common_tapes(first, second, setting.study, other->setting.study);
    const auto b = std::ranges::find_if(theirs, [&](const CellSeries& c) {
      return c.setting == static_cast<std::size_t>(other - there.begin()) && c.regime == a.regime &&
             c.environment.name == a.environment.name;
    });
    if (b == theirs.end()) continue;
    require_common_oracle(first, second, a, *b);
    std::vector<std::string> all;  // policies
    for (const PlannedLane& lane : plan.lanes)
      if (lane.policy->name != "oracle") add_new(all, lane.policy->name);
    std::vector<PolicyName> of = names;
    for (std::size_t k = 0; k < all.size() && names.empty(); ++k) of.push_back({all[k], ""});
    std::vector<int> all_T0 = asked_T0(options, a, setting.study.T0);
    std::erase_if(all_T0, [&](int T0) { return !wanted(other->setting.study.T0, T0); });
    for (const int T0 : all_T0)
      for (const PolicyName& name : of)
        for (const Contender& x : contenders(plan, T0, name.policy, name.reward))
          for (const Contender& y : contenders(other->plan, T0, x.policy, x.reward)) {
            const bool any_T0 = ignores_calibration(plan, x);
            if (any_T0 && T0 != all_T0[0]) continue;
            add_row(pairs, setting, any_T0 ? std::nullopt : std::optional(T0),
                    {a, x, fmt::format("{} of {}", x.name(), first.path())},
                    {*b, y, fmt::format("{} of {}", y.name(), second.path())});
          }
  }
  if (pairs.empty()) refuse_folders(first, second, options);
  require_rows(pairs);
  return pairs;
}

std::vector<std::string> manifest_differences(const StoredResults& first, const StoredResults& second) {
  return differences(first.identity(), second.identity());
}

}  // namespace pandora
