// What a lane does in a period, as data: LaneSpec and the rules that it combines. LaneTally is what remains of a lane.
#pragma once

#include "kernels/rules/spec.hpp"
#include "kernels/rules/tally.hpp"
