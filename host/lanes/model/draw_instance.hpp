// Draws a replication's fixed parameters and calibrates the radius of theta_* (Section 6.2).
#pragma once

#include <functional>

#include "pandora/replication.hpp"

namespace pandora {

/// draw_instance with r from `radius_of`, which gets the instance with the unit direction in theta_*'s place.
Instance draw_instance(const Dimensions& dimensions, const Environment& environment, Regime regime,
                       std::uint32_t replication, std::uint64_t seed,
                       const std::function<double(const Instance&)>& radius_of);

/// The radius for a unit vector `direction` in place of theta_*. `instance` must have all other parameters.
double calibrate_radius(const Instance& instance, const std::vector<double>& direction);

/// The radius r from pooled |v' phi|, where v is the direction of theta_*. Changes the order of `magnitude`.
double radius_of(std::vector<double>& magnitude);

/// A vector uniform on the unit sphere, from one period of the stream.
std::vector<double> unit_sphere(const Stream& stream, int size, std::uint32_t period = 0, std::uint32_t box = 0);

/// The parameters that belong to a box.
inline constexpr InstanceField::Member kParametersOfBoxes[] = {&Instance::alpha, &Instance::beta0, &Instance::beta1,
                                                               &Instance::c0, &Instance::c1};

/// Draws a parameter of a box as draw_instance does: the box's row of alpha, beta_0 or beta_1, or its c_0 or c_1. It
/// takes the stream's periods for redraw number `redraw`; 0: the first draw.
void draw_row_of_box(Instance& instance, InstanceField::Member parameter, int box, int redraw);

}  // namespace pandora
