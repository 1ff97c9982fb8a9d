// The exponent of a power law, as a straight line in two logarithms shows it.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>

namespace pandora {

/// y = factor * x^exponent.
struct PowerLaw {
  double exponent = 0;
  double factor = 1;
  /// Of the exponent, as if the residuals of log y were independent; those of a cumulative curve are not
  /// (growth_exponent of host/ground/statistics/resampling.hpp).
  double standard_error = 0;
  std::size_t points = 0;  ///< that it was fitted to
};

/// Least squares of log y on log x over the points with from <= x <= to and y > 0; none where fewer than three are left
/// or all of one x. Throws std::logic_error where x and y differ in length.
std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y, double from = 0,
                                      double to = std::numeric_limits<double>::infinity());

/// "LABEL, slope 0.52 ± 0.03", with spaces that do not break; without the half-width, or the slope, where it is NaN.
std::string with_slope(const std::string& label, double slope, double half_width);

}  // namespace pandora
