// Instances made by hand, small and of odd sizes, with coefficients from the C++ library's generator.
#pragma once

#include "kernels/tape/instance.hpp"

namespace pandora::naive {

/// Every parameter is drawn (with both signs, unlike the paper's, so that a sign error shows); in regime A Q,
/// alpha and beta are zero. The ball of `law` rejects some of the shocks.
Instance small_instance(Dimensions dimensions, Law law, Regime regime);

}  // namespace pandora::naive
