// What a judge's score of an answer says of its quality: E[quality | score], nondecreasing in the score.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// Isotonic regression: the nondecreasing function of the score that is nearest to the qualities in mean square,
/// constant on blocks of scores, linear between a block and the next, constant beyond the first and the last.
struct IsotonicMap {
  std::vector<double> scores;     ///< knots, strictly ascending; none: a score is its own quality
  std::vector<double> qualities;  ///< at the knots, nondecreasing

  double operator()(double score) const;
  bool operator==(const IsotonicMap&) const = default;

  /// By pool adjacent violators, in O(n log n). Both of one length; nothing is known of no scores at all.
  static IsotonicMap fit(std::span<const double> scores, std::span<const double> qualities);
};

/// Of each model its own map of the judge's score, fitted on these rows.
std::vector<IsotonicMap> calibrate_scores(const TraceTable& table, const ScoreColumn& score,
                                          std::span<const std::size_t> rows);

/// rows x models, row-major: the score of every answer as a quality.
std::vector<double> calibrated_scores(const std::vector<IsotonicMap>& maps, const ScoreColumn& score);

}  // namespace pandora
