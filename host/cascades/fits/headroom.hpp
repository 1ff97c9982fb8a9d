// What routing can pay on a table: the best single model, Weitzman's index policy, the best fixed cascade and a bound,
// each judged on prompts that it was not fitted on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/prompt_groups.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

inline constexpr std::size_t kHeadroomFolds = 5;  ///< fewer where there are fewer prompts

/// What a policy is worth; means over rows, intervals over prompts.
struct PolicyWorth {
  Interval utility;       ///< quality - price x dollars of a prompt
  Interval gain;          ///< its utility minus that of the best single model, paired by prompt; cross_fitted()
  Interval quality;       ///< of the deployed answer
  Interval usd_per_1000;  ///< dollars per 1,000 prompts
  double calls = 0.0;     ///< opened answers per prompt
};

/// What was fitted on some rows.
struct FittedPolicies {
  std::size_t single = 0;
  FixedCascade cascade;
  ModelIndices index;
};

/// An interval of a difference to a fitted policy that also counts how it would have come out on another table:
/// `folds`-fold cross-validation's variance times 1 + folds / (folds - 1), so 1.5 times as wide for five (Nadeau and
/// Bengio 2003). Over prompts alone, a fit that opens a second answer for one prompt in fifty "pays" in one table of
/// ten where it does not on fresh prompts.
Interval cross_fitted(const Interval& over_prompts, std::size_t folds);

/// The policies are fitted once for each fold, on the prompts outside it, and judged in it: calibration of the scores,
/// order, thresholds, indices and the choice of the single model. Utilities have intervals over prompts alone; where
/// two models are equally good, the interval of the best single one holds its expectation in 91 to 93 of 100 tables.
struct Headroom {
  double price = 0.0;  ///< utility per dollar
  PolicyWorth best_single, fixed_cascade, index_policy;
  PolicyWorth bound;             ///< every prompt's best answer, known beforehand and opened alone
  Interval single_in_hindsight;  ///< utility of `fitted.single`, chosen on the same rows: too good by the choice

  bool by_cascade = false;  ///< whether the cascade has the greater utility, else the index policy
  /// Of the better of the two over the best single model. Which one that is, is decided for each fold on the others, so
  /// that the interval is one of a choice that was made beforehand.
  Interval routing_gain;
  bool pays() const { return routing_gain.low > 0.0; }

  FittedPolicies fitted;                  ///< on all rows: what to deploy
  std::vector<FittedPolicies> fold_fits;  ///< of each fold, on the rows outside it: what was judged
};

/// Evaluators: "quality" (the truth is seen when an answer is opened), "score" or "score:NAME" (a judge's score is, by
/// which answers are accepted and deployed after it was calibrated per model by isotonic regression). One Headroom for
/// each price. Throws Error (usage) for another evaluator or a price that is negative or not finite, Error (bad_data)
/// for a score that the table does not have and for a table of fewer than two prompts.
std::vector<Headroom> measure_headroom(const TraceTable& table, const std::string& evaluator,
                                       const std::vector<double>& prices);

/// One sentence: what routing pays at this price, or that no cascade is better than the best single model.
std::string verdict(const Headroom& headroom, const TraceTable& table, const std::string& evaluator);

}  // namespace pandora
