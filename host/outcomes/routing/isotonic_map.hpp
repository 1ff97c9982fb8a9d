// A judge's score as a quality: E[quality | score], nondecreasing in the score.
#pragma once

#include <algorithm>
#include <vector>

namespace pandora {

/// Linear between a knot and the next, constant beyond the first and the last, as a fit found it (isotonic regression).
struct IsotonicMap {
  std::vector<double> scores;     ///< knots, strictly ascending; none: a score is its own quality
  std::vector<double> qualities;  ///< at the knots, nondecreasing

  double operator()(double score) const {
    if (scores.empty()) return score;
    const auto right = static_cast<std::size_t>(std::ranges::upper_bound(scores, score) - scores.begin());
    if (right == 0) return qualities.front();
    if (right == scores.size() || qualities[right] == qualities[right - 1]) return qualities[right - 1];
    const double share = (score - scores[right - 1]) / (scores[right] - scores[right - 1]);
    return qualities[right - 1] + share * (qualities[right] - qualities[right - 1]);
  }
  bool operator==(const IsotonicMap&) const = default;
};

}  // namespace pandora
