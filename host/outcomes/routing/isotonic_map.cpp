#include "host/outcomes/routing/isotonic_map.hpp"

#include <algorithm>

namespace pandora {

double IsotonicMap::operator()(double score) const {
  if (scores.empty()) return score;
  const auto above = std::upper_bound(scores.begin(), scores.end(), score);
  if (above == scores.begin()) return qualities.front();
  const auto right = static_cast<std::size_t>(above - scores.begin());
  if (above == scores.end() || qualities[right] == qualities[right - 1]) return qualities[right - 1];
  const double share = (score - scores[right - 1]) / (scores[right] - scores[right - 1]);
  return qualities[right - 1] + share * (qualities[right] - qualities[right - 1]);
}

}  // namespace pandora
