#include "host/ground/statistics/estimate.hpp"

#include <cmath>
#include <limits>

namespace pandora {

Estimate estimate(const std::vector<double>& values) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {kUnknown, kUnknown};
  const double n = static_cast<double>(values.size());
  double sum = 0.0, squares = 0.0;
  for (double v : values) sum += v;
  const double mean = sum / n;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() > 1 ? 1.96 * std::sqrt(squares / (n - 1.0) / n) : kUnknown};
}

}  // namespace pandora
