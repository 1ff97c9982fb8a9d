// What a table says of its models and judges, before any routing.
#pragma once

#include <cstddef>

#include "host/outcomes/tables/trace_table.hpp"

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

/// Pearson's correlation; NaN where one does not vary. Of one length.
double correlation(std::span<const double> a, std::span<const double> b);

/// All models, the most useful first: the best single one at this price, then the one that raises the mean of every
/// prompt's best utility most beside those before it.
std::vector<std::size_t> models_by_usefulness(const TraceTable& table, double price);

}  // namespace pandora
