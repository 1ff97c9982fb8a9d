// One draw of all fixed parameters, with everything that its lanes share, and the functions from which the paper's
// replications are made: draw_instance here, draw_tape (kernels/tape/tape.hpp), draw_shock_sample and oracle_indices
// (oracle/).
#pragma once

#include <vector>

#include "kernels/rules/period.hpp"
#include "kernels/tape/tape.hpp"
#include "oracle/oracle.hpp"

namespace pandora {

struct Replication {
  Instance instance;
  Tape tape;
  std::vector<double> sigma;  ///< oracle indices, rows of the tape x A
  Actions actions = {};       ///< the study's; with N openings the tape has N rows for every online period
  /// T each, of arms, where boxes may be deployed unopened: what the optimal policy of each period does, and the policy
  /// that commits to one box or to none. Otherwise empty.
  std::vector<PeriodOutcome> optimal = {}, committed = {};
  /// Set by an environment's code that changed costs or outputs but knows that sigma still holds, because the change
  /// leaves E[(mu* - sigma)^+ | x] and E[cost | x] as they are. Without it, a sigma that is still the model's causes a
  /// warning.
  bool sigma_is_meant = false;
};

/// Draws all parameters of one replication. Directions of theta_* are uniform on the sphere; rows of D and Q and the
/// vectors alpha_a, beta_{0,a}, beta_{1,a} have U[0,1] entries and unit length; c_{0,a}, c_{1,a} ~ U[0, u]; r = 1 /
/// (upper median of the pooled |u' phi|), so that P(-1 <= theta_*' phi <= 1) = 1/2. Some environments draw other slopes
/// and locations, or indices in place of costs.
Instance draw_instance(const Dimensions& dimensions, const Environment& environment, Regime regime,
                       std::uint32_t replication, std::uint64_t seed);

}  // namespace pandora
