#include "host/ground/statistics/power_law.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace pandora {

std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y, double from, double to) {
  if (x.size() != y.size()) throw std::logic_error(fmt::format("power law: {} x and {} y", x.size(), y.size()));
  std::vector<double> u, v;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] > 0 && x[i] >= from && x[i] <= to && y[i] > 0 && std::isfinite(x[i]) && std::isfinite(y[i])) {
      u.push_back(std::log(x[i]));
      v.push_back(std::log(y[i]));
    }
  const auto n = static_cast<double>(u.size());
  if (u.size() < 3) return std::nullopt;
  double mean_u = 0, mean_v = 0, uu = 0, uv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    mean_u += u[i] / n;
    mean_v += v[i] / n;
  }
  for (std::size_t i = 0; i < u.size(); ++i) {
    uu += (u[i] - mean_u) * (u[i] - mean_u);
    uv += (u[i] - mean_u) * (v[i] - mean_v);
  }
  // Equal x leave rounding of their mean alone.
  if (!(uu > 1e-20 * n * (1 + mean_u * mean_u))) return std::nullopt;
  PowerLaw law;
  law.exponent = uv / uu;
  law.factor = std::exp(mean_v - law.exponent * mean_u);
  law.points = u.size();
  double residuals = 0;  // sum of squares
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double residual = v[i] - mean_v - law.exponent * (u[i] - mean_u);
    residuals += residual * residual;
  }
  law.standard_error = std::sqrt(residuals / (n - 2) / uu);
  return law;
}

std::string with_slope(const std::string& label, double slope, double half_width) {
  if (!std::isfinite(slope)) return label;
  return fmt::format("{}, slope\u00a0{:.2f}{}", label, slope,
                     std::isfinite(half_width) ? fmt::format("\u00a0±\u00a0{:.2f}", half_width) : "");
}

}  // namespace pandora
