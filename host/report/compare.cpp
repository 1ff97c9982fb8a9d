#include "host/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host/report/cells.hpp"
#include "host/report/compare_text.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// The lanes of a contender that were run in the most replications: means over fewer do not compare with theirs.
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

ComparedRow compared(const Setting& setting, const CellSeries& cell, std::optional<int> T0, ComparedSide a,
                     ComparedSide b) {
  ComparedRow row{setting.label(), cell.environment.name, cell.regime, T0, setting.study.replications,
                  std::move(a),    std::move(b),          {},          {}};
  row.paired = paired_difference(row.a.best, row.b.best);
  std::vector<double> differences;
  for (std::size_t r = 0; r < row.a.best.size(); ++r) differences.push_back(row.a.best[r] - row.b.best[r]);
  row.bootstrap = bootstrap_interval(differences);
  if (const SumsByPrompt& x = row.a.by_prompt, &y = row.b.by_prompt; !x.sums.empty() && x.periods == y.periods) {
    SumsByPrompt difference = y;  // of regrets: the utility of b less that of a
    for (std::size_t p = 0; p < difference.sums.size(); ++p)
      difference.sums[p] = 1000.0 * (difference.sums[p] - x.sums[p]);
    row.over_prompts = difference.estimate();
  }
  return row;
}

// Whether the lanes are the same whatever T_0.
bool ignores_calibration(const Plan& plan, const Contender& who) {
  return !plan.lanes[who.lanes[0]].policy->uses_calibration;
}

void add_row(std::vector<ComparedPair>& pairs, const std::string& a, const std::string& b, ComparedRow row) {
  auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const ComparedPair& p) { return p.a == a && p.b == b; });
  if (pair == pairs.end()) pair = pairs.insert(pairs.end(), {a, b, {}});
  pair->rows.push_back(std::move(row));
}

bool asked(const CompareOptions& options, const CellSeries& cell, int T0) {
  return wanted(options.T0, T0) && wanted(options.environments, cell.environment.name) &&
         wanted(options.regimes, cell.regime);
}

void require_rows(const std::vector<ComparedPair>& pairs) {
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows)
      if (row.paired.n > 0) return;
  throw Error(
      ExitCode::bad_data,
      "compare: there is no replication in which both policies and the oracle were run to their end; failures.csv "
      "says which lanes failed");
}

void require_policies(const StoredResults& results) {
  if (!results.settings()[0].setting.study.regret)
    throw Error(ExitCode::usage, results.path() + ": its study simulates no policies (output.regret = false)");
}

// The oracle sees the tape alone: where it disagrees, the draws do.
void require_common_oracle(const StoredResults& first, const StoredResults& second, const CellSeries& a,
                           const CellSeries& b) {
  constexpr double kTolerance = 1.0;  // x 1000 and per period: what another grid of indices can do, not another tape
  const std::size_t n = std::min(a.lanes[0].utility.size(), b.lanes[0].utility.size());
  for (std::size_t r = 0; r < n; ++r) {
    const double x = a.lanes[0].utility[r], y = b.lanes[0].utility[r];
    if (std::abs(x - y) > kTolerance)  // NaN: not there
      throw Error(
          ExitCode::mismatch,
          fmt::format("{} and {} do not share tapes: the oracle's utility x 1000 in {}/{}/{} is {:.4f} there and "
                      "{:.4f} here",
                      first.path(), second.path(), a.environment.name, a.regime, r, x, y));
  }
}

// Of the other folder's settings the one that is compared with `planned`; there.end() if none is.
std::vector<PlannedSetting>::const_iterator matching_setting(const std::vector<PlannedSetting>& here,
                                                             const std::vector<PlannedSetting>& there,
                                                             const PlannedSetting& planned) {
  if (here.size() == 1 && there.size() == 1) return there.begin();
  return std::find_if(there.begin(), there.end(), [&](const PlannedSetting& p) {
    const Study &own = planned.setting.study, &other = p.setting.study;
    return p.setting.label() == planned.setting.label() && of_table(other) == of_table(own) &&
           (!of_table(own) || other.environments[0].name == own.environments[0].name);
  });
}

}  // namespace

std::vector<ComparedPair> compare_policies(StoredResults& results, const CompareOptions& options) {
  if (options.policies.size() < 2)
    throw Error(ExitCode::usage, "--policy: name two or more to compare, such as dow,online_plugin");
  require_policies(results);
  require_names(options, results.settings());
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) names.push_back(parse_policy_name(text, results.settings()[0].plan));
  std::vector<ComparedPair> pairs;
  for (const CellSeries& cell : cell_series(results)) {
    const PlannedSetting& planned = results.settings()[cell.setting];
    std::optional<int> first_asked;
    for (const int T0 : planned.setting.study.T0) {
      if (!asked(options, cell, T0)) continue;
      if (!first_asked) first_asked = T0;
      for (std::size_t other = 1; other < names.size(); ++other) {
        const auto as = contenders(planned.plan, T0, names[0].policy, names[0].reward),
                   bs = contenders(planned.plan, T0, names[other].policy, names[other].reward);
        const auto shares = [](const Contender& c, const std::vector<Contender>& list) {
          return std::any_of(list.begin(), list.end(), [&](const Contender& d) { return d.reward == c.reward; });
        };
        const bool common = std::any_of(as.begin(), as.end(), [&](const Contender& c) { return shares(c, bs); });
        for (const Contender& a : as)
          for (const Contender& b : bs) {
            if (common && a.reward != b.reward) continue;  // like with like where there is
            const bool any_T0 = ignores_calibration(planned.plan, a) && ignores_calibration(planned.plan, b);
            if (any_T0 && T0 != first_asked) continue;  // the same lanes again
            const std::vector<std::size_t> own = complete_lanes(cell, a), others = complete_lanes(cell, b);
            std::vector<std::size_t> lanes = own;
            lanes.insert(lanes.end(), others.begin(), others.end());
            const std::vector<std::size_t> which = common_replications(cell, lanes);
            add_row(pairs, a.name(), b.name(),
                    compared(planned.setting, cell, any_T0 ? std::nullopt : std::optional(T0), judge(cell, own, which),
                             judge(cell, others, which)));
          }
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
  const auto matching = [&](const PlannedSetting& planned) { return matching_setting(here, there, planned); };
  const std::vector<CellSeries> ours = cell_series(first), theirs = cell_series(second);
  std::vector<ComparedPair> pairs;
  for (const CellSeries& a : ours) {
    const PlannedSetting& planned = here[a.setting];
    const auto other = matching(planned);
    if (other == there.end()) continue;
    require_common_tapes(first, second, planned.setting.study, other->setting.study);
    const auto b = std::find_if(theirs.begin(), theirs.end(), [&](const CellSeries& c) {
      return c.setting == static_cast<std::size_t>(other - there.begin()) && c.regime == a.regime &&
             c.environment.name == a.environment.name;
    });
    if (b == theirs.end()) continue;
    require_common_oracle(first, second, a, *b);
    std::optional<int> first_asked;
    for (const int T0 : planned.setting.study.T0) {
      if (!asked(options, a, T0) || !wanted(other->setting.study.T0, T0)) continue;
      if (!first_asked) first_asked = T0;
      std::vector<PolicyName> of = names;
      if (of.empty()) {
        std::set<std::string> seen;
        for (const PlannedLane& lane : planned.plan.lanes)
          if (lane.policy->name != "oracle" && seen.insert(lane.policy->name).second)
            of.push_back({lane.policy->name, ""});
      }
      for (const PolicyName& name : of)
        for (const Contender& x : contenders(planned.plan, T0, name.policy, name.reward))
          for (const Contender& y : contenders(other->plan, T0, x.policy, x.reward)) {
            const bool any_T0 = ignores_calibration(planned.plan, x);
            if (any_T0 && T0 != first_asked) continue;
            const std::vector<std::size_t> own = complete_lanes(a, x), others = complete_lanes(*b, y);
            const std::vector<std::size_t> which = common_replications(a, own), also = common_replications(*b, others);
            std::vector<std::size_t> kept;
            std::set_intersection(which.begin(), which.end(), also.begin(), also.end(), std::back_inserter(kept));
            add_row(pairs, fmt::format("{} of {}", x.name(), first.path()),
                    fmt::format("{} of {}", y.name(), second.path()),
                    compared(planned.setting, a, any_T0 ? std::nullopt : std::optional(T0), judge(a, own, kept),
                             judge(*b, others, kept)));
          }
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
