#include "host/analysis/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host/analysis/cells.hpp"
#include "host/analysis/compare_text.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// Regrets of the k hyperparameters, chosen as the paper does and cross-fitted.
struct Judged {
  std::vector<double> best;  // per replication, of the least mean
  double mean = 0.0;
  CrossFit fit;
};

Judged judge(const CellSeries& cell, const Contender& who, const std::vector<std::size_t>& which) {
  std::vector<std::vector<double>> regrets;
  for (const std::size_t lane : who.lanes) regrets.push_back(cell.regrets(lane, which));
  Judged out;
  for (const std::vector<double>& own : regrets) {
    const double mean = estimate(own).mean;
    if (out.best.empty() || mean < out.mean) {
      out.best = own;
      out.mean = mean;
    }
  }
  out.fit = cross_fit(regrets);
  return out;
}

struct Comparison {
  std::string cell;  // such as "uniform, A, T0=50"
  Judged a, b;
  PairedDifference paired;
};

struct Pair {
  std::string a, b;
  std::vector<Comparison> rows;
};

// Means and half-widths stand in columns of their own, as CSV wants them.
std::vector<Table> tables_of(const std::vector<Pair>& pairs) {
  std::vector<double> p;
  for (const Pair& pair : pairs)
    for (const Comparison& row : pair.rows) p.push_back(row.paired.p);
  const std::vector<double> adjusted = holm_adjusted(p);
  std::vector<Table> tables;
  std::size_t next = 0;
  for (const Pair& pair : pairs) {
    Table table;
    table.label = "compare";
    table.title =
        fmt::format("{} (a) against {} (b): time-averaged regret x 1000, paired over replications", pair.a, pair.b);
    table.columns = {"cell",         "n",        "regret of a", "regret of b",        "a - b",    "± (95%)",
                     "a better",     "p (Holm)", "efficiency",  "cross-fitted a - b", "± (95%) ", "optimism of a",
                     "optimism of b"};
    int ahead = 0, behind = 0;
    for (const Comparison& row : pair.rows) {
      const double holm = adjusted[next++];
      const bool told = holm < 0.05;
      const PairedDifference& d = row.paired;
      const Estimate fitted = jackknife_estimate(difference(row.a.fit, row.b.fit));
      ahead += told && d.difference.mean < 0.0 ? 1 : 0;
      behind += told && d.difference.mean > 0.0 ? 1 : 0;
      table.rows.push_back(
          {{row.cell, exact_cell(fmt::format("{}", d.n), static_cast<double>(d.n)),
            exact_cell(number_text(row.a.mean, 2), row.a.mean), exact_cell(number_text(row.b.mean, 2), row.b.mean),
            exact_cell(number_text(d.difference.mean, 3), d.difference.mean, told),
            exact_cell(number_text(d.difference.half_width_95, 3), d.difference.half_width_95),
            exact_cell(d.n > 0 ? fmt::format("{:.0f}%", 100.0 * d.share_below) : "---", d.share_below),
            exact_cell(p_value_text(holm), holm),
            exact_cell(number_text(d.relative_efficiency, 1), d.relative_efficiency),
            exact_cell(number_text(fitted.mean, 3), fitted.mean),
            exact_cell(number_text(fitted.half_width_95, 3), fitted.half_width_95),
            exact_cell(number_text(row.a.fit.mean - row.a.mean, 3), row.a.fit.mean - row.a.mean),
            exact_cell(number_text(row.b.fit.mean - row.b.mean, 3), row.b.fit.mean - row.b.mean)}});
    }
    table.notes = {
        fmt::format("a is better in {} and worse in {} of {} cells (bold: Holm-adjusted p < 0.05 over all rows asked "
                    "for).",
                    ahead, behind, pair.rows.size()),
        "efficiency: an unpaired comparison would need so many times the replications.",
        fmt::format(
            "cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, over "
            "{} splits, jackknife interval; optimism: by how much the least mean regret of all, as the paper "
            "reports it, is below that.",
            kSplits)};
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string cell_text(const Setting& setting, const CellSeries& cell, int T0) {
  return fmt::format("{}{}{}, {}, T0={}", setting.label(), setting.varied.empty() ? "" : ", ", cell.environment.name,
                     cell.regime, T0);
}

void add_row(std::vector<Pair>& pairs, const std::string& a, const std::string& b, Comparison row) {
  auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) { return p.a == a && p.b == b; });
  if (pair == pairs.end()) pair = pairs.insert(pairs.end(), {a, b, {}});
  pair->rows.push_back(std::move(row));
}

bool asked(const CompareOptions& options, const CellSeries& cell, int T0) {
  return wanted(options.T0, T0) && wanted(options.environments, cell.environment.name) &&
         wanted(options.regimes, cell.regime);
}

[[noreturn]] void refuse_empty() {
  throw Error(ExitCode::usage, "compare: nothing is left to compare; ask for fewer restrictions");
}

// What a tape is drawn from.
void require_common_tapes(const StoredResults& first, const StoredResults& second, const Study& a, const Study& b) {
  const auto refuse = [&](const std::string& what, const std::string& here, const std::string& there) {
    throw Error(ExitCode::mismatch,
                fmt::format("{} and {} do not share tapes: {} is {} there and {} here; only results on the same draws "
                            "can be paired",
                            first.path(), second.path(), what, here, there));
  };
  if (a.seed != b.seed) refuse("seed", fmt::format("{}", a.seed), fmt::format("{}", b.seed));
  if (a.periods != b.periods) refuse("periods", fmt::format("{}", a.periods), fmt::format("{}", b.periods));
  const auto text = [](const Dimensions& d) {
    return fmt::format("{}/{}/{}/{}", d.boxes, d.context, d.output, d.reward_features);
  };
  if (!(a.dimensions == b.dimensions))
    refuse("dimensions (boxes/context/output/reward_features)", text(a.dimensions), text(b.dimensions));
  for (const Environment& e : a.environments)
    for (const Environment& other : b.environments)
      if (e.name == other.name && !(e == other)) refuse("[environment." + e.name + "]", "one law", "another");
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

}  // namespace

std::vector<Table> compare_policies(StoredResults& results, const CompareOptions& options) {
  if (options.policies.size() < 2)
    throw Error(ExitCode::usage, "--policies: name two or more to compare, such as dow,online_plugin");
  const Study& study = results.settings()[0].setting.study;
  require_names(options, study);
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) names.push_back(parse_policy_name(text, results.settings()[0].plan));
  std::vector<Pair> pairs;
  for (const CellSeries& cell : cell_series(results)) {
    const PlannedSetting& planned = results.settings()[cell.setting];
    for (const int T0 : planned.setting.study.T0) {
      if (!asked(options, cell, T0)) continue;
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
            std::vector<std::size_t> lanes = a.lanes;
            lanes.insert(lanes.end(), b.lanes.begin(), b.lanes.end());
            const std::vector<std::size_t> which = common_replications(cell, lanes);
            Comparison row{cell_text(planned.setting, cell, T0), judge(cell, a, which), judge(cell, b, which), {}};
            row.paired = paired_difference(row.a.best, row.b.best);
            add_row(pairs, a.name(), b.name(), std::move(row));
          }
      }
    }
  }
  if (pairs.empty()) refuse_empty();
  return tables_of(pairs);
}

std::vector<Table> compare_folders(StoredResults& first, StoredResults& second, const CompareOptions& options) {
  const auto &here = first.settings(), &there = second.settings();
  require_names(options, here[0].setting.study);
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) {
    names.push_back(parse_policy_name(text, here[0].plan));
    (void)parse_policy_name(text, there[0].plan);
  }
  const auto matching = [&](const PlannedSetting& planned) {
    if (here.size() == 1 && there.size() == 1) return there.begin();
    return std::find_if(there.begin(), there.end(),
                        [&](const PlannedSetting& p) { return p.setting.label() == planned.setting.label(); });
  };
  const std::vector<CellSeries> ours = cell_series(first), theirs = cell_series(second);
  std::vector<Pair> pairs;
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
    for (const int T0 : planned.setting.study.T0) {
      if (!asked(options, a, T0) || !wanted(other->setting.study.T0, T0)) continue;
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
            std::vector<std::size_t> which = common_replications(a, x.lanes), kept;
            const std::vector<std::size_t> also = common_replications(*b, y.lanes);
            std::set_intersection(which.begin(), which.end(), also.begin(), also.end(), std::back_inserter(kept));
            Comparison row{cell_text(planned.setting, a, T0), judge(a, x, kept), judge(*b, y, kept), {}};
            row.paired = paired_difference(row.a.best, row.b.best);
            add_row(pairs, fmt::format("{} of {}", x.name(), first.path()),
                    fmt::format("{} of {}", y.name(), second.path()), std::move(row));
          }
    }
  }
  if (pairs.empty()) refuse_empty();
  return tables_of(pairs);
}

std::vector<std::string> manifest_differences(const StoredResults& first, const StoredResults& second) {
  return differences(first.identity(), second.identity());
}

}  // namespace pandora
