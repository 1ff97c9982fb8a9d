// Draws a replication's fixed parameters and calibrates the radius of theta_* (Section 6.2).
#pragma once

#include <functional>

#include "pandora/replication.hpp"

namespace pandora {

/// draw_instance with r from `radius_of`, which is given the instance with the unit direction in theta_*'s place.
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
