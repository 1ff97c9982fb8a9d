// How a policy's lane plays wider actions (kernels/rules/actions.hpp), and the benchmarks of a replication whose boxes
// may be deployed unopened.
#pragma once

#include "oracle/oracle.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// Turns a lane that a policy made for boxes into one of arms. Its list, in which a box may stand once for each opening,
/// then names arms, and the outside option is opened before all. Where boxes may be deployed unopened, the oracle follows
/// the wider problem's optimal policy, and hindsight opens nothing.
void play_arms(LaneSpec& spec, const Actions& actions, int boxes);

/// The most arms of boxes for which the benchmark is computed.
inline constexpr int kMostUnopenedArms = 6;

/// Fills in `optimal` and `committed` of a replication that has its tape, its indices and its actions. `optimal` solves
/// the dynamic programme of oracle/exact_programme.hpp in every period, for the period's costs and the law of mu* given
/// its context. The law has kLawPoints equally likely values, the means of quantile bins of the sample.
void decide_benchmarks(const ShockSample& sample, const OracleOptions& options, Replication& replication);
inline constexpr int kLawPoints = 32;

}  // namespace pandora
