// One draw of all fixed parameters with everything its lanes share, and the parts that the paper's are made of:
// draw_instance here, draw_tape (kernels/tape/tape.hpp), draw_shock_sample and oracle_indices (oracle/).
#pragma once

#include <vector>

#include "kernels/tape/tape.hpp"
#include "oracle/oracle.hpp"

namespace pandora {

struct Replication {
  Instance instance;
  Tape tape;
  std::vector<double> sigma;  ///< oracle indices, rows of the tape x A
  /// An environment's code says that sigma is right also where it is that of the model and costs or outputs are not,
  /// because a change leaves E[(mu* - sigma)^+ | x] and E[cost | x] as they are. Then nobody is told of it.
  bool sigma_is_meant = false;
};

/// All parameters of one replication. Directions of theta_* are uniform on the sphere; rows of D and Q and the
/// vectors alpha_a, beta_{0,a}, beta_{1,a} have U[0,1] entries and unit length; c_{0,a}, c_{1,a} ~ U[0, u];
/// r = 1 / (upper median of the pooled |u' phi|), so that P(-1 <= theta_*' phi <= 1) = 1/2. The environment says what
/// else there is: other slopes and locations, or indices in place of costs.
Instance draw_instance(const Dimensions& dimensions, const Environment& environment, Regime regime,
                       std::uint32_t replication, std::uint64_t seed);

}  // namespace pandora
