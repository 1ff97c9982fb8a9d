#include "host/outcomes/routing/routing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pandora {
namespace {

// stops(position, seen, best): whether opening ends after the answer at that position of the order.
template <class Stops>
Routed walk(const Outcomes& outcomes, const std::vector<std::size_t>& order, std::span<const std::size_t> rows,
            const Stops& stops) {
  Routed out = empty_rows(rows.size());
  if (!outcomes.latency.empty()) out.latency.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i];
    double best = -std::numeric_limits<double>::infinity(), quality = 0.0, dollars = 0.0, calls = 0.0;
    for (std::size_t position = 0; position < order.size(); ++position) {
      const std::size_t at = row * outcomes.models + order[position];
      dollars += outcomes.dollars[at];
      if (!out.latency.empty()) out.latency[i] += outcomes.latency[at];
      ++calls;
      if (outcomes.seen[at] > best) {
        best = outcomes.seen[at];
        quality = outcomes.quality[at];
      }
      if (position + 1 < order.size() && stops(position, outcomes.seen[at], best)) break;
    }
    out.quality[i] = quality;
    out.dollars[i] = dollars;
    out.calls[i] = calls;
  }
  return out;
}

}  // namespace

std::vector<double> Routed::utility(double price) const {
  std::vector<double> out(quality.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = quality[i] - price * dollars[i];
  return out;
}

Routed empty_rows(std::size_t rows) {
  return {std::vector<double>(rows), std::vector<double>(rows), std::vector<double>(rows)};
}

void put_rows(Routed& all, const Routed& some, std::span<const std::size_t> rows) {
  for (const auto what : Routed::kNumbers)
    for (std::size_t i = 0; i < rows.size(); ++i) (all.*what)[rows[i]] = (some.*what)[i];
  if (some.latency.empty()) return;
  all.latency.resize(all.quality.size());
  for (std::size_t i = 0; i < rows.size(); ++i) all.latency[rows[i]] = some.latency[i];
}

Routed routed_of(const Routed& routed, std::span<const std::size_t> rows) {
  Routed out;
  for (const auto what : Routed::kNumbers)
    for (const std::size_t row : rows) (out.*what).push_back((routed.*what)[row]);
  for (const std::size_t row : rows)
    if (!routed.latency.empty()) out.latency.push_back(routed.latency[row]);
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
  Routed out;
  for (const std::size_t row : rows) {
    std::size_t best = row * outcomes.models;
    for (std::size_t at = best + 1; at < (row + 1) * outcomes.models; ++at)
      if (outcomes.utility(at, price) > outcomes.utility(best, price)) best = at;
    out.quality.push_back(outcomes.quality[best]);
    out.dollars.push_back(outcomes.dollars[best]);
    out.calls.push_back(1);
  }
  return out;
}

std::size_t best_single_model(const Outcomes& outcomes, double price, std::span<const std::size_t> rows) {
  std::vector<double> sums(outcomes.models, 0.0);
  for (const std::size_t row : rows)
    for (std::size_t m = 0; m < outcomes.models; ++m) sums[m] += outcomes.utility(row * outcomes.models + m, price);
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

// Newton's method from the left on a convex, decreasing function of pieces: exact after the last piece is found.
double reservation_value(std::span<const double> values, double cost) {
  const double n = static_cast<double>(values.size());
  double sigma = std::accumulate(values.begin(), values.end(), 0.0) / n - cost;
  for (std::size_t active = values.size();;) {
    std::size_t above = 0;
    double sum = 0.0;
    for (const double value : values)
      if (value > sigma) {
        sum += value;
        ++above;
      }
    if (above == 0 || above >= active) return sigma;
    active = above;
    sigma = (sum - n * cost) / static_cast<double>(above);
  }
}

ModelIndices fit_model_indices(const Outcomes& outcomes, double price, std::span<const std::size_t> rows) {
  std::vector<double> index(outcomes.models), values(rows.size());
  for (std::size_t m = 0; m < outcomes.models; ++m) {
    double dollars = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      values[i] = outcomes.seen[rows[i] * outcomes.models + m];
      dollars += outcomes.dollars[rows[i] * outcomes.models + m];
    }
    index[m] = reservation_value(values, price * dollars / static_cast<double>(rows.size()));
  }
  ModelIndices policy{all_rows(outcomes.models), {}};
  std::stable_sort(policy.order.begin(), policy.order.end(),
                   [&](std::size_t a, std::size_t b) { return index[a] > index[b]; });
  for (const std::size_t m : policy.order) policy.indices.push_back(index[m]);
  return policy;
}

std::vector<std::size_t> all_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace pandora
