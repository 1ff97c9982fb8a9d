// The best fixed cascade among all whose thresholds come from given lists.
#pragma once

#include <cstddef>
#include <vector>

#include "host/outcomes/routing/routing.hpp"

namespace pandora {

/// A model over the prompts of a search; columns of one length.
struct SearchedModel {
  std::vector<double> seen;        ///< what accepts an answer, and which one is deployed
  std::vector<double> worth;       ///< what a deployed answer is worth
  std::vector<double> cost;        ///< of opening, in units of worth
  std::vector<double> thresholds;  ///< that it may have, ascending, at most kMostThresholds
};

inline constexpr std::size_t kMostThresholds = 32;

/// Utilities (means over the prompts) that differ by no more are ties.
inline constexpr double kUtilityTie = 1e-9;

/// Among the cascades of at most `longest` of the models the one with the greatest mean of worth - cost. Candidates
/// come by length, then models, then thresholds ascending; the first of the best wins. Model 0 alone where no utility
/// is finite. There is at least one model and one prompt.
FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest);

}  // namespace pandora
