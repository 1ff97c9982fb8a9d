// A judge's score as a quality: E[quality | score], nondecreasing in the score.
#pragma once

#include <vector>

namespace pandora {

/// Linear between a knot and the next, constant beyond the first and the last, as a fit found it (isotonic regression).
struct IsotonicMap {
  std::vector<double> scores;     ///< knots, strictly ascending; none: a score is its own quality
  std::vector<double> qualities;  ///< at the knots, nondecreasing

  double operator()(double score) const;
  bool operator==(const IsotonicMap&) const = default;
};

}  // namespace pandora
