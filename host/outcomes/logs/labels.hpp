// Tables in which the quality of some answers alone is known, while a judge's score and the dollars of every answer
// stand there.
#pragma once

#include <cmath>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

inline constexpr std::size_t kLabelFolds = 5;

/// The judge that an evaluator names, as CalibratedEvaluator takes it; else the table's first one; where it has none, scores
/// that tell nothing, so that maps are means.
ScoreColumn judge_of(const TraceTable& table, const std::string& evaluator);

/// The fold of each row: the rank of its prompt by first appearance, modulo kLabelFolds.
std::vector<std::size_t> folds_by_appearance(const PromptGroups& groups);

/// rows x models: what an answer with this score is worth, E[quality | score], nondecreasing. Of each model its own map,
/// fitted on the labelled cells of other folds, each with the weight 1 / its probability; a model that has fewer than
/// ten of them there has the map of all models together. A row whose fold is kLabelFolds is held out: no map is fitted on
/// its labels. Cells whose score is NaN have NaN.
std::vector<double> cross_fitted_quality(const TraceTable& table, const ScoreColumn& score,
                                         const std::vector<double>& probability, const std::vector<std::size_t>& folds);

/// rows x models: the probability with which a cell's quality became known: what the table says, else the share of its
/// model's cells whose quality is known.
std::vector<double> label_probabilities(const TraceTable& table);

/// The table with g + L (q - g) / p in place of each quality q, where L says whether it is known, p with what
/// probability (label_probabilities), and g is the judge's score as a quality (cross_fitted_quality; without a judge the
/// mean of the model's known qualities in other folds). This is augmented inverse propensity weighting (Robins,
/// Rotnitzky and Zhao 1994): its mean over the answers that any policy deploys is unbiased for the mean of their
/// qualities, if whether a quality became known depends on nothing that bears on it beyond the model and what p says; or
/// if g is right. Single numbers are no qualities and may leave [0, 1]. Nothing for a table whose qualities are all
/// known. `evaluator`: whose score is the judge's, as CalibratedEvaluator takes it; where it names none, the table's
/// first judge. Throws Error (usage) for the evaluator "quality", which looks at what is not known, Error (bad_data) for a
/// table with fewer than ten known qualities.
std::optional<TraceTable> with_estimated_quality(const TraceTable& table, const std::string& evaluator);

/// The numbers that with_estimated_quality() puts in place of qualities, and the same made without the labels of some rows:
/// what a policy earns on these rows is unbiased only where neither its fit nor the estimates it was fitted to saw them.
class QualityEstimates {
 public:
  /// Of a table of which some qualities are known, which must outlive this. `evaluator`: as above.
  QualityEstimates(const TraceTable& table, const std::string& evaluator);

  /// rows x models. `held_out`: by row, whether its labels serve the estimate of its own cells alone.
  std::vector<double> without(const std::vector<bool>& held_out) const;

 private:
  const TraceTable& table_;
  ScoreColumn score_;
  std::vector<double> probability_;
  std::vector<std::size_t> folds_;
};

/// A log of decisions as a table of what each model alone would have brought: h + F (y - h) / p in place of quality and of
/// dollars, where F says whether the model was called first, p with what probability, y is what that call brought (a
/// quality that is not known as in with_estimated_quality), and h is the mean of the model's first calls on other folds,
/// by the weights 1 / p. So the mean over whatever models a router names is unbiased, if the probabilities are right.
/// Single numbers are no outcomes; dollars may be negative. `evaluator`: as there. Throws Error (bad_data) with the model
/// that was called first fewer than ten times.
TraceTable with_estimated_first_calls(const TraceTable& log, const std::string& evaluator);

/// Whether a decision of the log called a second model.
bool has_second_calls(const TraceTable& log);
/// By model, empty or why its first calls cannot speak for it: their weights 1 / propensity do not have the mean 1 over
/// decisions (by more than 3.5 standard errors over prompts, of at least kLeastLabels first calls).
std::vector<std::string> faults_of_first_calls(const TraceTable& log);

/// with_estimated_quality for a fit. Throws Error (bad_data) for a log.
std::optional<TraceTable> table_to_fit(const TraceTable& table, const std::string& evaluator);

/// A model's mean quality as the estimates above have it, over prompts, and how many times as wide its interval is as one
/// of as many prompts whose qualities were all known.
struct EstimatedMean {
  Interval quality{NAN, NAN, NAN};
  double widening = NAN;
};
/// Of each model of a log or of a table that does not know all qualities; NaN for a model that was called first, or is
/// known, fewer than ten times.
std::vector<EstimatedMean> estimated_means(const TraceTable& table, const std::string& evaluator);

/// "quality is known of 459 of 4584 answers; it is estimated ..."; what a fit or a test notes.
std::string label_note(const TraceTable& table);

}  // namespace pandora
