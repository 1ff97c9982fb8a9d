// What is seen of an answer when it is opened: its quality, or a judge's score that is calibrated: E[quality | score],
// nondecreasing in the score.
#pragma once

#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// Isotonic regression: the nondecreasing function of the score that is nearest to the qualities in mean square,
/// constant on blocks of scores, linear between a block and the next, constant beyond the first and the last.
struct IsotonicMap {
  std::vector<double> scores;     ///< knots, strictly ascending; none: a score is its own quality
  std::vector<double> qualities;  ///< at the knots, nondecreasing

  double operator()(double score) const;
  bool operator==(const IsotonicMap&) const = default;

  /// By pool adjacent violators, in O(n log n). All of one length, without weights all are 1; nothing is known of no
  /// scores at all.
  static IsotonicMap fit(std::span<const double> scores, std::span<const double> qualities,
                         std::span<const double> weights = {});
};

/// Of each model its own map of the judge's score, fitted on these rows. `quality`: rows x models in place of the table's;
/// empty for the table's own.
std::vector<IsotonicMap> calibrate_scores(const TraceTable& table, const ScoreColumn& score,
                                          std::span<const std::size_t> rows, std::span<const double> quality = {});

/// rows x models, row-major: the score of every answer as a quality.
std::vector<double> calibrated_scores(const std::vector<IsotonicMap>& maps, const ScoreColumn& score);

class CalibratedEvaluator {
 public:
  /// "quality", "score" or "score:NAME". Throws Error (usage) for anything else, for nothing at all with what the table
  /// has, and Error (bad_data) for a score that the table does not have. The table must outlive this.
  CalibratedEvaluator(const TraceTable& table, const std::string& name);

  bool is_truth() const { return score_ == nullptr; }
  /// rows x models, row-major, as it stands in the table.
  std::span<const double> shown() const { return is_truth() ? table_.quality : score_->values; }
  /// Maps of the score fitted on these rows, of each model its own; none for the truth. `quality`: as calibrate_scores().
  std::vector<IsotonicMap> calibrate(std::span<const std::size_t> rows, std::span<const double> quality = {}) const {
    return is_truth() ? std::vector<IsotonicMap>() : calibrate_scores(table_, *score_, rows, quality);
  }
  /// rows x models, row-major: what is seen of every answer of the table by these maps; empty for the truth.
  std::vector<double> seen(const std::vector<IsotonicMap>& maps) const {
    return is_truth() ? std::vector<double>() : calibrated_scores(maps, *score_);
  }
  /// The table with what seen() gave, which must outlive the result.
  Outcomes outcomes(const std::vector<double>& seen) const {
    return {table_.models.size(), is_truth() ? table_.quality : seen, table_.quality, table_.cost};
  }

 private:
  const TraceTable& table_;
  const ScoreColumn* score_ = nullptr;
};

}  // namespace pandora
