// The results of prompts under a fixed cascade, one prompt after the other.
#pragma once

#include <limits>
#include <vector>

#include "host/outcomes/search/fit_fixed_cascade.hpp"

namespace pandora::test {

/// The results, by prompt.
struct Routed {
  std::vector<double> quality, dollars;  ///< quality of the deployed answer; dollars of all opened ones
  std::vector<double> calls;
};

inline Routed route(const Outcomes& outcomes, const FixedCascade& cascade) {
  Routed out;
  for (std::size_t row = 0; row < outcomes.rows(); ++row) {
    double best = -std::numeric_limits<double>::infinity(), quality = 0.0, dollars = 0.0;
    std::size_t calls = 0;
    while (calls < cascade.order.size()) {
      const std::size_t at = row * outcomes.models + cascade.order[calls];
      dollars += outcomes.dollars[at];
      if (outcomes.seen[at] > best) {
        best = outcomes.seen[at];
        quality = outcomes.quality[at];
      }
      if (++calls < cascade.order.size() && outcomes.seen[at] >= cascade.thresholds[calls - 1]) break;
    }
    out.quality.push_back(quality);
    out.dollars.push_back(dollars);
    out.calls.push_back(static_cast<double>(calls));
  }
  return out;
}

}  // namespace pandora::test
