#include "host/outcomes/routing/routing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pandora {
namespace {

Routed room_for(std::size_t prompts) {
  Routed out;
  out.quality.reserve(prompts);
  out.dollars.reserve(prompts);
  out.calls.reserve(prompts);
  return out;
}

// stops(position, seen, best): whether opening ends after the answer at that position of the order.
template <class Stops>
Routed walk(const Outcomes& outcomes, const std::vector<std::size_t>& order, std::span<const std::size_t> rows,
            const Stops& stops) {
  Routed out = room_for(rows.size());
  for (const std::size_t row : rows) {
    double best = -std::numeric_limits<double>::infinity(), quality = 0.0, dollars = 0.0;
    std::uint32_t calls = 0;
    for (std::size_t position = 0; position < order.size(); ++position) {
      const std::size_t at = row * outcomes.models + order[position];
      dollars += outcomes.dollars[at];
      ++calls;
      if (outcomes.seen[at] > best) {
        best = outcomes.seen[at];
        quality = outcomes.quality[at];
      }
      if (position + 1 < order.size() && stops(position, outcomes.seen[at], best)) break;
    }
    out.quality.push_back(quality);
    out.dollars.push_back(dollars);
    out.calls.push_back(calls);
  }
  return out;
}

}  // namespace

std::vector<double> Routed::utility(double price) const {
  std::vector<double> out(quality.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = quality[i] - price * dollars[i];
  return out;
}

Routed evaluate(const Outcomes& outcomes, const FixedCascade& cascade, std::span<const std::size_t> rows) {
  return walk(outcomes, cascade.order, rows,
              [&](std::size_t position, double seen, double) { return seen >= cascade.thresholds[position]; });
}

Routed evaluate(const Outcomes& outcomes, const ModelIndices& policy, std::span<const std::size_t> rows) {
  return walk(outcomes, policy.order, rows,
              [&](std::size_t position, double, double best) { return best >= policy.indices[position + 1]; });
}

Routed best_answers(const Outcomes& outcomes, double price, std::span<const std::size_t> rows) {
  Routed out = room_for(rows.size());
  for (const std::size_t row : rows) {
    std::size_t best = row * outcomes.models;
    const auto net = [&](std::size_t at) { return outcomes.quality[at] - price * outcomes.dollars[at]; };
    for (std::size_t at = best + 1; at < (row + 1) * outcomes.models; ++at)
      if (net(at) > net(best)) best = at;
    out.quality.push_back(outcomes.quality[best]);
    out.dollars.push_back(outcomes.dollars[best]);
    out.calls.push_back(1);
  }
  return out;
}

std::size_t best_single_model(const Outcomes& outcomes, double price, std::span<const std::size_t> rows) {
  std::vector<double> sums(outcomes.models, 0.0);
  for (const std::size_t row : rows)
    for (std::size_t m = 0; m < outcomes.models; ++m) {
      const std::size_t at = row * outcomes.models + m;
      sums[m] += outcomes.quality[at] - price * outcomes.dollars[at];
    }
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

std::vector<std::size_t> all_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace pandora
