#include "host/outcomes/routing/fit_model_indices.hpp"

#include <algorithm>

namespace pandora {

// Newton's method from the left on a convex, decreasing function of pieces: exact after the last piece is found.
double reservation_value(std::span<const double> values, double cost) {
  const double n = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values) sum += value;
  double sigma = sum / n - cost;
  for (std::size_t active = values.size();;) {
    std::size_t above = 0;
    sum = 0.0;
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

}  // namespace pandora
