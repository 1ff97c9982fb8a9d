// The benchmarks of a replication whose boxes may be deployed unopened (Actions::uninspected).
#pragma once

#include "oracle/oracle.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// The most arms of boxes for which the benchmark is computed.
inline constexpr int kMostUnopenedArms = 6;

/// Fills in `optimal` and `committed` of a replication that has its tape, its indices and its actions. `optimal` solves
/// the dynamic programme of oracle/exact_programme.hpp in every period, for the period's costs and the law of mu* given
/// its context. The law has kLawPoints equally likely values, the means of quantile bins of the sample.
void decide_benchmarks(const ShockSample& sample, const OracleOptions& options, Replication& replication);
inline constexpr int kLawPoints = 32;

}  // namespace pandora
