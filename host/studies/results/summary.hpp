// Aggregates the units of a sweep into the rows of the tables.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/studies/results/prompt_statistics.hpp"
#include "host/studies/results/published.hpp"
#include "host/studies/study/study.hpp"

namespace pandora {

/// Whether the replication says something about the lane: it and the oracle's were run to their end.
bool counts(const UnitResult& unit, std::size_t lane);

/// The mean over the replications that count of pick(the oracle's tally, the lane's).
template <class Pick>
Estimate over_replications(std::span<const UnitResult> units, std::size_t lane, Pick&& pick) {
  std::vector<double> values;
  for (const UnitResult& unit : units)
    if (counts(unit, lane)) values.push_back(pick(unit.lanes[0], unit.lanes[lane]));
  return estimate(values);
}

/// One policy variant in one cell; regrets x 1000.
struct SummaryRow {
  std::string regime, environment;
  int T0 = 0;
  std::string policy, reward, hyperparameter;
  std::size_t lane = 0;          ///< of the plan
  std::string lane_name;         ///< its name, without the replication; see lane_name()
  int replications = 0;          ///< those that count: neither this lane nor the oracle's failed
  double unsolved_refits = 0.0;  ///< of all replications: LaneTally's
  int failed = 0;                ///< those in which one did; in an unfinished run others are missing
  int periods = 0;
  Estimate regret;           ///< (1/T) sum_t (U*_t - U_t) with mu*
  Estimate realised_regret;  ///< the same with Bernoulli rewards
  // Per period: utility = quality - cost.
  Estimate quality;               ///< mu* of the deployed output, x 1000
  Estimate realised_quality;      ///< its Bernoulli reward, x 1000
  Estimate cost;                  ///< of the queried boxes, x 1000
  Estimate queries;               ///< boxes
  Estimate parts[kCountOfParts];  ///< of `regret`, which they add up to: see RegretParts
  Estimate gaps[kCountOfGaps];    ///< of the parts, between both paths; NaN where an earlier version knew one
  bool best = false;              ///< least expected regret among the hyperparameters of its policy and reward setting
                                  ///< that have the most replications
  std::optional<PublishedValue> published;  ///< on the best row
  std::optional<bool> inside_joint_95;      ///< from kLeastForComparison replications on
  std::optional<PromptStatistics> prompts;  ///< in a table of outcomes
  bool told = false;                        ///< told the quality that the table's evaluator does not show
};

/// A statistic of a row: its columns in summary.csv, its title in the overview and in figures (null: not there), and
/// what it is the mean of, times `factor`. Rows are made, written and shown by going over row_statistics().
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
  double u = 0.0;
  Estimate utility_x1000, boxes_queried;
  std::optional<PublishedOracle> published;
};

struct OrderRow {
  std::string environment, regime;
  Estimate permutations, max_mass, min_mass;
  std::optional<PublishedOrder> published;
};

/// Replications from which on results are marked against the published ones.
inline constexpr int kLeastForComparison = 10;

struct Summary {
  std::vector<SummaryRow> rows;
  std::vector<OracleRow> oracle;
  std::vector<OrderRow> order;
};
/// `results` are those of the plan's units; what has not been run yet is empty.
Summary summarise(const Study& study, const Plan& plan, const std::vector<UnitResult>& results);

/// Whether the study's numbers for the environment are comparable with the published ones: the paper's dimensions,
/// horizon and environment.
bool comparable(const Study& study, const Environment& environment);

/// Whether a published number that is compared lies outside the joint 95% interval.
bool outside(const Estimate& ours, const PublishedValue& published, int replications);

}  // namespace pandora
