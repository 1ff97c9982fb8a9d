// Instances made by hand, small and of odd sizes, with coefficients from the C++ library's generator.
#pragma once

#include "kernels/tape/instance.hpp"

namespace pandora::naive {

/// Every parameter is drawn (with both signs, unlike the paper's, so that a sign error shows); in regime A Q,
/// alpha and beta are zero. The ball of `law` rejects some of the shocks.
Instance small_instance(Dimensions dimensions, Law law, Regime regime);

/// The same with this location; Location::common is the one above, and the first box's of Location::own.
Instance with_location(Instance instance, Location location);

/// The same with beta_1 of output_costs = "centred"; in regime A it stays zero.
Instance with_centred_costs(Instance instance);

/// The same with mu* = 1/2 + z / 10 within [0, 1] and scales of 1.
Instance with_linear_rewards(Instance instance);

/// The same with drawn indices, about tanh of 0.1 to 0.6 where d_x is small, and costs that follow.
Instance with_linear_indices(Instance instance);

}  // namespace pandora::naive
