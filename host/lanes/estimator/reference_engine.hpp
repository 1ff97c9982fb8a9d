// The plain engine: one lane, one period after the other, in double. Every faster path is compared with it.
#pragma once

#include "host/lanes/engine/lanes.hpp"
#include "pandora/custom_policy.hpp"

namespace pandora {

/// The parts of a row of the tape, and of a box in it, that a lane may see.
Request request_of(const Tape& tape, int period, int row);
Output output_of(const Tape& tape, int row, int box);

/// Calibrates on the lane's T_0 periods (or x_0) and runs it over the online periods of the tape. A lane that fails
/// stops, and its tally says why. `record` may be null.
LaneTally run_reference_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                             LaneRecord* record = nullptr);

}  // namespace pandora
