#include "host/cascade/price_grid.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

std::vector<double> price_grid(const TraceTable& table, double factor) {
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
  // With two digits: prices are read by people.
  const auto rounded = [](double x) {
    const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1.0);
    return std::round(x / unit) * unit;
  };
  std::vector<double> out;
  for (double price = kHardly / greatest; out.size() < kMost; price *= factor) {
    out.push_back(rounded(price));
    if (price >= 1.0 / least) break;
  }
  return out;
}

}  // namespace pandora
