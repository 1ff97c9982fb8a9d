// `pandora trace check`: what a table says of its models and judges and what routing on it can pay, as tables and as
// JSON.
#pragma once

#include "host/cascades/fits/logged_worth.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/ground/tables/table.hpp"
#include "host/outcomes/logs/labels.hpp"

namespace pandora {

struct ColumnRange {
  double mean = 0.0, least = 0.0, greatest = 0.0;
};

struct ModelFacts {
  ColumnRange quality;
  ColumnRange usd_per_1000;  ///< dollars per 1,000 prompts; least and greatest of a single one, times 1,000
};

/// How well a judge's score tells the quality of answers; NaN where scores or qualities do not vary.
struct ScoreFacts {
  /// Pearson's correlation of score and quality.
  double correlation = 0.0;
  /// Share of the quality's variance within models that the calibrated score explains, on prompts that it was not
  /// calibrated on: 1 - sum (quality - calibrated score)^2 / sum (quality - mean of the model)^2. Below 0 where the
  /// score is worse than the mean.
  double explained = 0.0;
};

/// Answers whose scores are in [k / 10, (k + 1) / 10), the last tenth with 1.
struct ScoreTenth {
  std::size_t answers = 0;
  double score = 0.0, quality = 0.0;  ///< means; NaN without answers
};

struct EvaluatorFacts {
  std::string name;  ///< of the score
  ScoreFacts all;    ///< all models' answers together
  std::vector<ScoreFacts> models;
  std::vector<ScoreTenth> tenths;  ///< 10
};

struct TableFacts {
  std::size_t prompts = 0;  ///< different ones
  std::vector<ModelFacts> models;
  std::vector<double> correlation;  ///< of the models' qualities, models x models; NaN where one does not vary
  std::vector<EvaluatorFacts> evaluators;
};

/// Of a table with at least one row.
TableFacts table_facts(const TraceTable& table);

/// Pearson's correlation of the pairs that are known; NaN where one does not vary. Of one length.
double correlation(std::span<const double> a, std::span<const double> b);

/// All models, the most useful first: the best single one at this price, then the one that raises the mean of every
/// prompt's best utility most beside those before it.
std::vector<std::size_t> models_by_usefulness(const TraceTable& table, double price);

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
  /// Every prompt's best answer, known beforehand and opened alone; NaN where qualities are estimated.
  CascadeWorth bound = CascadeWorth::unknown();
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

/// Of more models the most useful ones must be named: a figure of 16 is what environments take, too.
inline constexpr std::size_t kMostCheckedModels = 16;

/// Throws Error (bad_data) for more models, with the most useful ones at this price. `done`: what is not done with so
/// many, such as "checked".
void require_few_models(const TraceTable& table, double price, const char* done);

struct TraceCheck {
  std::string evaluator;
  TableFacts facts;
  std::vector<Headroom> headrooms;    ///< by price
  std::vector<std::string> verdicts;  ///< by price
  std::vector<EstimatedMean> means;   ///< of the models, where not all qualities are known; else none
  Identified can;                     ///< what can be estimated from the table, and why not the rest
};

/// Of a log, which has no headroom, what its calls say. Throws Error as measure_headroom() does, and Error (bad_data) for more than kMostCheckedModels models, with the most
/// useful ones.
TraceCheck check_trace(const TraceTable& table, const std::string& evaluator, const std::vector<double>& prices);

/// The models, their correlations, the judges and the headroom at each price.
std::vector<Table> trace_check_tables(const TraceCheck& check, const TraceTable& table);

/// docs/commands.md lists the members. Numbers that do not exist are null.
nlohmann::json trace_check_json(const TraceCheck& check, const TraceTable& table);

}  // namespace pandora
