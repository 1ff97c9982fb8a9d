// Aggregates the units of a sweep into the rows of the tables.
#pragma once

#include <functional>
#include <span>

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

// The paper's Tables 1 to 3, embedded at build time from experiments/published/:

struct PublishedValue {
  double value = kUnknown;
  double half_width_95 = kUnknown;  ///< 1.96 standard errors; 0.005 (rounding) if the paper gives none
};

struct PublishedOracle {
  double u = kUnknown;
  PublishedValue utility_x1000, boxes_queried;
};

struct PublishedOrder {
  PublishedValue permutations, max_mass, min_mass;
};

/// Regret x 1000 of a policy in a cell. static_plugin is matched in its form with unknown reward, LinUCB only by its
/// name.
std::optional<PublishedValue> published_regret(const std::string& regime, const std::string& environment, int T0,
                                               const std::string& policy, const std::string& reward);
std::optional<PublishedOracle> published_oracle(const std::string& regime, const std::string& environment);
std::optional<PublishedOrder> published_order(const std::string& regime, const std::string& environment);

/// |ours - published| <= 1.96 standard errors of both: whether two independent means agree at the joint 95% level, as
/// for the paper's intervals.
bool inside_joint_95(const Estimate& ours, const PublishedValue& published);

/// The rows of a comma-separated text without quotes, without the header.
std::vector<std::vector<std::string>> csv_rows(const std::string& text);

/// Whether the replication counts for the lane: both it and the oracle's lane ran to their end.
bool counts(const UnitResult& unit, std::size_t lane);

/// The mean of pick(the oracle's tally, the lane's) over the replications that count.
template <class Pick>
Estimate over_replications(std::span<const UnitResult> units, std::size_t lane, Pick&& pick) {
  std::vector<double> values;
  for (const UnitResult& unit : units)
    if (counts(unit, lane)) values.push_back(pick(unit.lanes[0], unit.lanes[lane]));
  return estimate(values);
}

/// A policy's results on a table of outcomes. Estimates are means over the periods of all replications, with 95%
/// intervals over prompts: how much other prompts of the same kind would change them. Replications are orders of the
/// same prompts, so all periods of a prompt count as one draw. With s_p the sum of a prompt's values and n_p the number
/// of its periods, the mean is m = sum s_p / sum n_p, and its variance is P / (P - 1) sum (s_p - m n_p)^2 / (sum
/// n_p)^2. NaN where nothing is known. Per period: utility = quality - price x dollars; gap = the benchmark's utility
/// (lane 0) minus the lane's, paired by prompt. If periods are not prompts (periods_are_prompts), the same means have
/// intervals over replications.
struct PromptStatistics {
  Estimate utility, quality, cost_usd_per_1000, calls, gap;
};

/// Sums over the periods of each prompt, and the number of periods.
struct SumsByPrompt {
  std::vector<double> sums, periods;

  /// The mean over periods with its interval over prompts.
  Estimate estimate() const;
};

/// The utility of a lane, over the replications as below. Empty if the units do not belong to a table.
SumsByPrompt utility_by_prompt(std::span<const UnitResult> units, std::size_t lane, double price,
                               const Actions& actions = {});

/// For a lane, over the replications in which neither it nor the benchmark failed. `price`: utility per dollar.
PromptStatistics prompt_statistics(std::span<const UnitResult> units, std::size_t lane, double price,
                                   const Actions& actions = {});

/// A column of PromptStatistics.
struct PromptStatistic {
  const char *column, *title, *unit;
  Estimate PromptStatistics::*member;
};
inline constexpr PromptStatistic kPromptStatistics[] = {
    {"utility", "utility", "quality", &PromptStatistics::utility},
    {"quality", "quality", "0 to 1", &PromptStatistics::quality},
    {"cost_usd_per_1000", "$ per 1,000", "dollars per 1,000 prompts", &PromptStatistics::cost_usd_per_1000},
    {"calls", "calls", "models per prompt", &PromptStatistics::calls},
    {"gap", "gap", "utility", &PromptStatistics::gap},
};

/// One policy variant in one cell; regrets x 1000.
struct SummaryRow {
  std::string regime, environment;
  int T0 = 0;
  std::string policy, reward, hyperparameter;
  std::size_t lane = 0;          ///< in the plan
  std::string lane_name;         ///< its name, without the replication; see lane_name()
  int replications = 0;          ///< those that count: neither this lane nor the oracle's failed
  double unsolved_refits = 0.0;  ///< over all replications, as in LaneTally
  int failed = 0;                ///< those in which one of them failed; in an unfinished run others are missing
  int periods = 0;
  Estimate regret;           ///< (1/T) sum_t (U*_t - U_t) with mu*
  Estimate realised_regret;  ///< the same with Bernoulli rewards
  // Per period: utility = quality - cost.
  Estimate quality;               ///< mu* of the deployed output, x 1000
  Estimate realised_quality;      ///< its Bernoulli reward, x 1000
  Estimate cost;                  ///< of the queried boxes, x 1000
  Estimate queries;               ///< boxes opened
  Estimate parts[kCountOfParts];  ///< the parts that add up to `regret`: see RegretParts
  Estimate gaps[kCountOfGaps];    ///< of the parts, between both paths
  bool best = false;              ///< least expected regret among the hyperparameters of its policy and reward setting
                                  ///< that have the most replications
  std::optional<PublishedValue> published;  ///< on the best row
  std::optional<bool> inside_joint_95;      ///< with at least kLeastForComparison replications
  std::optional<PromptStatistics> prompts;  ///< in a table of outcomes
  bool told = false;                        ///< knows the quality, which the table's evaluator does not show
};

/// A statistic of a row: its columns in summary.csv, its title in the overview and in figures (null: they do not have
/// it), and the number whose mean it is, times `factor`. Rows are made, written and shown by a loop over
/// row_statistics().
struct RowStatistic {
  std::string column, half_width;
  const char* title;
  double factor;
  std::function<Estimate&(SummaryRow&)> in;
  std::function<double(const LaneTally& oracle, const LaneTally& own)> of;

  const Estimate& of_row(const SummaryRow& row) const { return in(const_cast<SummaryRow&>(row)); }
};
/// In the order of the file: the first kStatisticsBefore stand before the column `best`, the others at its end.
const std::vector<RowStatistic>& row_statistics();
inline constexpr std::size_t kStatisticsBefore = 6;

struct OracleRow {
  std::string regime, environment;
  double u = 0.0;  ///< NaN if it does not decide the costs: indices are drawn, or the environment is code
  Estimate utility_x1000, boxes_queried;
  std::optional<PublishedOracle> published;
  bool linear_indices = false;
};

struct OrderRow {
  std::string environment, regime;
  Estimate permutations, max_mass, min_mass;
  std::optional<PublishedOrder> published;
};

/// From this many replications on, results are marked against the published ones.
inline constexpr int kLeastForComparison = 10;

struct Summary {
  std::vector<SummaryRow> rows;
  std::vector<OracleRow> oracle;
  std::vector<OrderRow> order;
};
/// `results` belong to the plan's units; those that have not run yet are empty.
Summary summarise(const Study& study, const Plan& plan, const std::vector<UnitResult>& results);

/// A setting of a study with its results so far.
struct SettingSummary {
  Setting setting;
  Summary summary;
};

/// The row with the best hyperparameters, or null.
const SummaryRow* best_row(const Summary& summary, const std::string& policy, const std::string& reward, int T0,
                           const std::string& regime, const std::string& environment);

/// Whether the study's numbers for the environment can be compared with the published ones: the paper's dimensions,
/// horizon and environment.
bool comparable(const Study& study, const Environment& environment);

/// Whether a published number that can be compared lies outside the joint 95% interval.
bool outside(const Estimate& ours, const PublishedValue& published, int replications);

/// "1.23±0.45", without ± if the half-width is unknown or zero, "---" if the mean is unknown.
std::string plus_minus(const Estimate& e, int decimals = 2);

}  // namespace pandora
