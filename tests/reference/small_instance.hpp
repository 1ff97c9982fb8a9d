// Small instances of odd sizes, with coefficients from the C++ library's generator.
#pragma once

#include "kernels/tape/instance.hpp"

namespace pandora::naive {

/// An instance with random parameters. Unlike the paper's they have both signs, so that a wrong sign shows. In regime
/// A, Q, alpha and beta are zero. The ball of `law` rejects some of the shocks.
Instance small_instance(Dimensions dimensions, Law law, Regime regime);

/// The same with this location. Location::common keeps the instance, and Location::own keeps the first box's location.
Instance with_location(Instance instance, Location location);

/// The same with beta_1 of output_costs = "centred"; in regime A it stays zero.
Instance with_centred_costs(Instance instance);

/// The same with mu* = 1/2 + z / 10 within [0, 1] and scales of 1.
Instance with_linear_rewards(Instance instance);

/// The same with random linear indices, and costs that follow from them. For small d_x, indices are about tanh of 0.1
/// to 0.6.
Instance with_linear_indices(Instance instance);

}  // namespace pandora::naive
