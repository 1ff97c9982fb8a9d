// The benchmark of a study with a budget: Weitzman's rule with a price per query, or on costs, that meets the budget.
#pragma once

#include "kernels/rules/pacing.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// Boxes opened per period, or their costs, under Weitzman's rule with these indices over the online periods. Only
/// boxes that are there count.
double spent_by_oracle(const Tape& tape, const std::vector<double>& sigma, Pacing::Of of);

struct ConstrainedOracle {
  double multiplier = 0.0;    ///< 0 if the budget does not bind
  std::vector<double> sigma;  ///< indices under the multiplier, like Replication::sigma
};

/// The least multiplier lambda >= 0 under which Weitzman's rule keeps to the budget on this tape, by bisection. With a
/// budget of queries, costs are c + lambda; with a budget of costs, (1 + lambda) c. If no multiplier up to 1000
/// suffices, it is 1000.
ConstrainedOracle constrained_oracle(const Instance& instance, const Tape& tape, const Pacing& budget,
                                     const OracleOptions& options);

/// A lower bound on the costs per period, over the replication's first periods. One box must be opened in every period,
/// so it is the cost of the box with the least expected cost. Takes some milliseconds. Only for the paper's model with
/// constant parameters.
double least_spending(const ReplicationRequest& request);

}  // namespace pandora
