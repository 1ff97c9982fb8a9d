// Draws a replication's fixed parameters and calibrates the radius of theta_* (Section 6.2).
#pragma once

#include <functional>

#include "kernels/instance.hpp"

namespace pandora {

/// Number of pooled draws of u' phi(x, omega_a) behind the radius r.
inline constexpr std::uint32_t kRadiusDraws = 131072;

/// All parameters of one replication. Directions of theta_* are uniform on the sphere; rows of D and Q and the
/// vectors alpha_a, beta_{0,a}, beta_{1,a} have U[0,1] entries and unit length; c_{0,a}, c_{1,a} ~ U[0, u];
/// r = 1 / (upper median of the pooled |u' phi|), so that P(-1 <= theta_*' phi <= 1) = 1/2.
Instance draw_instance(const Dimensions& dimensions, const Environment& environment, Regime regime,
                       std::uint32_t replication, std::uint64_t seed);

/// The same with r from `radius_of`, which is given the instance with the unit direction in theta_*'s place.
Instance draw_instance(const Dimensions& dimensions, const Environment& environment, Regime regime,
                       std::uint32_t replication, std::uint64_t seed,
                       const std::function<double(const Instance&)>& radius_of);

/// The radius for a unit vector `direction` in place of theta_*; `instance` needs all else.
double calibrate_radius(const Instance& instance, const std::vector<double>& direction);

/// The radius r from pooled |u' phi|, whose order it changes.
double radius_of(std::vector<double>& magnitude);

/// A vector uniform on the unit sphere, from the first period of the stream.
std::vector<double> unit_sphere(const Stream& stream, int size);

}  // namespace pandora
