#include "oracle/reservation_index.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

ProjectedLaw empirical_law(const std::vector<float>& descending) {
  return compressed_law(descending, static_cast<int>(descending.size()));
}

ProjectedLaw compressed_law(const std::vector<float>& descending, int bins) {
  const std::size_t n = descending.size(), k = std::min(n, static_cast<std::size_t>(bins));
  ProjectedLaw law;
  law.points.reserve(k);
  law.cumulative.reserve(k);
  for (std::size_t bin = 0; bin < k; ++bin) {
    const std::size_t begin = bin * n / k, end = (bin + 1) * n / k;
    double sum = 0.0;
    for (std::size_t i = begin; i < end; ++i) sum += descending[i];
    law.points.push_back(sum / static_cast<double>(end - begin));
    law.cumulative.push_back(static_cast<double>(end) / static_cast<double>(n));
  }
  return law;
}

double IndexSolver::excess(double sigma) const {
  double sum = 0.0, before = 0.0;
  for (std::size_t i = 0; i < g_.size() && g_[i] > sigma; ++i) {
    sum += (law_->cumulative[i] - before) * (g_[i] - sigma);
    before = law_->cumulative[i];
  }
  return sum;
}

double IndexSolver::standard_error(double sigma) const {
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
