#include "oracle/reservation_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pandora {

ProjectedLaw empirical_law(const std::vector<float>& descending, RewardLink link) {
  return compressed_law(descending, static_cast<int>(descending.size()), link);
}

ProjectedLaw compressed_law(const std::vector<float>& descending, int bins, RewardLink link) {
  const std::size_t n = descending.size(), k = std::min(n, static_cast<std::size_t>(bins));
  ProjectedLaw law;
  law.link = link;
  law.points.resize(k);
  law.cumulative.resize(k);
  for (std::size_t bin = 0; bin < k; ++bin)
    quantile_bin(descending.data(), n, k, bin, law.points[bin], law.cumulative[bin]);
  return law;
}

double index_of_values(std::span<const double> values, double cost, std::span<const double> weights) {
  std::vector<std::size_t> order;
  double total = 0.0;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  for (std::size_t i = 0; i < values.size(); ++i)
    if (weight(i) > 0.0) {
      order.push_back(i);
      total += weight(i);
    }
  if (!(cost >= 0.0) || order.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto above = [&](std::size_t a, std::size_t b) { return values[a] > values[b]; };
  if (!std::is_sorted(order.begin(), order.end(), above)) std::sort(order.begin(), order.end(), above);
  std::vector<double> sorted, cumulative, partial;
  for (const std::size_t i : order) {
    const double p = weight(i) / total;
    sorted.push_back(values[i]);
    cumulative.push_back((cumulative.empty() ? 0.0 : cumulative.back()) + p);
    partial.push_back((partial.empty() ? 0.0 : partial.back()) + p * values[i]);
  }
  return reservation_index(
      sorted.data(), cumulative.data(), static_cast<int>(sorted.size()), [&](int i) { return partial[i]; }, cost);
}

double ReservationSolver::excess(double sigma) const {
  double sum = 0.0, before = 0.0;
  for (std::size_t i = 0; i < g_.size() && g_[i] > sigma; ++i) {
    sum += (law_->cumulative[i] - before) * (g_[i] - sigma);
    before = law_->cumulative[i];
  }
  return sum;
}

double ReservationSolver::standard_error(double sigma) const {
  double sum = 0.0, squares = 0.0, above = 0.0;
  for (std::size_t i = 0; i < g_.size() && g_[i] > sigma; ++i) {
    const double p = law_->cumulative[i] - above;
    sum += p * (g_[i] - sigma);
    squares += p * (g_[i] - sigma) * (g_[i] - sigma);
    above = law_->cumulative[i];
  }
  return std::sqrt(squares - sum * sum) / (above * std::sqrt(static_cast<double>(g_.size())));
}

}  // namespace pandora
