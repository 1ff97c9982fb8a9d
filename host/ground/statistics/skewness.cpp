#include "host/ground/statistics/skewness.hpp"

#include <cmath>

namespace pandora {

double skewness(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double mean = 0.0, squares = 0.0, cubes = 0.0;
  for (const double x : values) mean += x / n;
  for (const double x : values) {
    const double d = x - mean;
    squares += d * d / n;
    cubes += d * d * d / n;
  }
  return squares > 0.0 ? cubes / std::pow(squares, 1.5) : 0.0;
}

double skewed_quantile(double t, double skewness, std::size_t n) {
  const double a = skewness / std::sqrt(static_cast<double>(n)), shifted = t - a / 6.0;
  if (std::abs(a) < 1e-6) return shifted;  // the limit; what is left out is below a
  return 3.0 / a * (std::cbrt(1.0 + a * shifted) - 1.0);
}

double least_values(double skewness) {
  return 25.0 * skewness * skewness;
}

}  // namespace pandora
