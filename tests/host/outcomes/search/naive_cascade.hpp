// Fixed cascades by their definition: all of them, and their utility, one prompt after the other.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "host/outcomes/search/fit_fixed_cascade.hpp"

namespace pandora::test {

/// The mean over the prompts of the deployed answer's quality minus price x the dollars of all opened ones.
inline double mean_utility(const Outcomes& outcomes, const FixedCascade& cascade, double price) {
  double sum = 0.0;
  for (std::size_t row = 0; row < outcomes.rows(); ++row) {
    double best = -std::numeric_limits<double>::infinity(), quality = 0.0, dollars = 0.0;
    for (std::size_t position = 0; position < cascade.order.size(); ++position) {
      const std::size_t at = row * outcomes.models + cascade.order[position];
      dollars += outcomes.dollars[at];
      if (outcomes.seen[at] > best) {
        best = outcomes.seen[at];
        quality = outcomes.quality[at];
      }
      if (position < cascade.thresholds.size() && outcomes.seen[at] >= cascade.thresholds[position]) break;
    }
    sum += quality - price * dollars;
  }
  return sum / static_cast<double>(outcomes.rows());
}

/// All cascades by length, then models, then thresholds. `thresholds`: those of each model.
inline std::vector<FixedCascade> all_cascades(const std::vector<std::vector<double>>& thresholds) {
  std::vector<FixedCascade> out, shorter = {{}};  // shorter: each order of models once
  for (std::size_t length = 1; length <= thresholds.size(); ++length) {
    std::vector<FixedCascade> orders;
    for (const FixedCascade& cascade : shorter)
      for (std::size_t m = 0; m < thresholds.size(); ++m) {
        if (std::ranges::count(cascade.order, m) > 0) continue;
        orders.push_back(cascade);
        orders.back().order.push_back(m);
      }
    for (const FixedCascade& order : orders) {
      std::vector<FixedCascade> candidates = {order};
      for (std::size_t position = 0; position + 1 < length; ++position) {
        std::vector<FixedCascade> longer;
        for (const FixedCascade& candidate : candidates)
          for (const double threshold : thresholds[order.order[position]]) {
            longer.push_back(candidate);
            longer.back().thresholds.push_back(threshold);
          }
        candidates = std::move(longer);
      }
      out.insert(out.end(), candidates.begin(), candidates.end());
    }
    shorter = std::move(orders);
  }
  return out;
}

}  // namespace pandora::test
