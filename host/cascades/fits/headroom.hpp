// What routing can pay on a table: the best single model, Weitzman's index policy, the best fixed cascade and a bound,
// each judged on prompts that it was not fitted on.
#pragma once

#include "host/cascades/fits/worth.hpp"

namespace pandora {

inline constexpr std::size_t kHeadroomFolds = 5;  ///< fewer where there are fewer prompts

/// What was fitted on some rows.
struct FittedPolicies {
  std::size_t single = 0;
  FixedCascade cascade;
  ModelIndices index;
};

/// The policies are fitted once for each fold, on the prompts outside it, and judged in it: calibration of the scores,
/// order, thresholds, indices and the choice of the single model. Gains are over the best single model and
/// cross_fitted(); all else has intervals over prompts alone. Where two models are equally good, the interval of the
/// best single one holds its expectation in 91 to 93 of 100 tables.
struct Headroom {
  double price = 0.0;  ///< utility per dollar
  CascadeWorth best_single, fixed_cascade, index_policy;
  CascadeWorth bound;            ///< every prompt's best answer, known beforehand and opened alone
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
