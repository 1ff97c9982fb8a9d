// The benchmark of a study with a budget: Weitzman's rule at the price of a query, or of a cost, that meets the budget.
#pragma once

#include "kernels/rules/pacing.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// Boxes opened per period, or their costs, by Weitzman's rule with these indices over the online periods, of the boxes
/// that are there.
double spent_by_oracle(const Tape& tape, const std::vector<double>& sigma, Pacing::Of of);

struct ConstrainedOracle {
  double multiplier = 0.0;    ///< 0 where the budget does not bind
  std::vector<double> sigma;  ///< indices under it, as Replication::sigma
};

/// The least multiplier lambda >= 0 under which Weitzman's rule keeps to the budget on this tape, by bisection: costs are
/// c + lambda of a budget of queries and (1 + lambda) c of one of costs. If none up to 1000 does, that one.
ConstrainedOracle constrained_oracle(const Instance& instance, const Tape& tape, const Pacing& budget,
                                     const OracleOptions& options);

/// What costs are at the least, per period, in the replication's first periods: those of the box that is expected to cost
/// least, for one must be opened in every period. Some milliseconds; the paper's model, whose parameters stay.
double least_spending(const ReplicationRequest& request);

}  // namespace pandora
