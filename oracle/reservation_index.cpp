#include "oracle/reservation_index.hpp"

#include <algorithm>
#include <cmath>

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
