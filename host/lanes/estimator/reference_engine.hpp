// The straightforward engine: one lane, one period after the other, in double. Every faster path is compared with it.
#pragma once

#include "host/lanes/engine/lanes.hpp"

namespace pandora {

/// Calibrates on the lane's T_0 periods (or x_0) and runs it over the online periods of the tape. A lane that fails
/// stops there; its tally says why. `record` may be null.
LaneTally run_reference_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                             LaneRecord* record = nullptr);

}  // namespace pandora
