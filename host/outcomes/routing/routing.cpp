#include "host/outcomes/routing/routing.hpp"

#include <limits>
#include <numeric>

namespace pandora {

std::vector<double> Routed::utility(double price) const {
  std::vector<double> out(quality.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = quality[i] - price * dollars[i];
  return out;
}

Routed evaluate(const Outcomes& outcomes, const FixedCascade& cascade, std::span<const std::size_t> rows) {
  Routed out;
  for (const std::size_t row : rows) {
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

std::vector<std::size_t> all_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace pandora
