// How a policy's lane plays wider actions (kernels/rules/actions.hpp), and the benchmarks of a replication whose boxes
// may be deployed unopened.
#pragma once

#include "oracle/exact_programme.hpp"
#include "oracle/oracle.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// Turns a lane that a policy made for boxes into a lane that plays arms. A box may stand in the lane's list once for
/// each opening; afterwards the list names arms. The outside option is opened first. Where boxes may be deployed
/// unopened, the oracle follows the wider problem's optimal policy, and a lane with Score::hindsight deploys unopened.
void play_arms(LaneSpec& spec, const Actions& actions, int boxes);

/// Fills in the oracle's indices of the online periods such that it plays as hindsight does. Of all openings and the
/// outside option, one has the greatest mu* - c. If it is an opening, its index is above all rewards. All other indices
/// are below them. The replication must have its tape and its actions.
void set_hindsight_indices(Replication& replication);

/// The most arms of boxes for which the benchmark is computed.
inline constexpr int kMostUnopenedArms = 6;

/// Fills in `optimal` and `committed` of a replication that has its tape, its indices and its actions. `optimal` solves
/// the dynamic programme of oracle/exact_programme.hpp in every period, for the period's costs and the law of mu* given
/// its context. The law has kLawPoints equally likely values, the means of quantile bins of the sample.
void decide_benchmarks(const ShockSample& sample, const OracleOptions& options, Replication& replication);
inline constexpr int kLawPoints = 32;

/// The same where every period has this problem, with the laws of mu* themselves.
void decide_benchmarks(const FiniteProblem& problem, Replication& replication);

}  // namespace pandora
