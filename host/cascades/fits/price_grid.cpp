#include "host/cascades/fits/price_grid.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

double rounded(double x, int digits) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) + 1.0 - digits);
  // By whichever of a product and a quotient is exact: 0.27, not 0.27000000000000002.
  return unit >= 1.0 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1.0 / unit);
}

std::vector<double> price_grid(const TraceTable& table) {
  constexpr double kHardly = 0.002;  // utility of the dearest model's dollars
  constexpr std::size_t kMost = 64;
  double least = HUGE_VAL, greatest = 0.0;  // means of models that cost
  const std::size_t models = table.models.size();
  for (std::size_t m = 0; m < models; ++m) {
    double mean = 0.0;
    for (std::size_t row = 0; row < table.rows(); ++row)
      mean += table.cost[row * models + m] / static_cast<double>(table.rows());
    if (!(mean > 0.0)) continue;
    least = std::min(least, mean);
    greatest = std::max(greatest, mean);
  }
  if (!(greatest > 0.0)) return {1.0};
  std::vector<double> out;
  for (double price = kHardly / greatest; out.size() < kMost; price *= 2.0) {
    out.push_back(rounded(price, 2));
    if (price >= 1.0 / least) break;
  }
  return out;
}

}  // namespace pandora
