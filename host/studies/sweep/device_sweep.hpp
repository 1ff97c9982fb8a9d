// On GPUs: every device prepares replications and runs the lanes of many of them in lockstep, on a few streams each.
#pragma once

#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// How a device shares its work out: groups that run at the same time, each with its own thread and stream, so that one
/// copies or waits while another computes; and the replications of a group, if there are as many and they fit. A
/// replication holds 20 MB on the host meanwhile.
struct DeviceGroups {
  std::size_t units = 80;
  std::size_t per_device = 4;
};

/// Where lanes go from stage to stage, groups that together hold the whole paper: late in a run few boxes wait for a
/// solve in the same block, so the more lanes there are the better a device is used. Where they go in cohorts, no more
/// than fill a large device: the next replications are prepared beside them.
DeviceGroups groups_of(const Study& study);

/// Runs units on `device`; Backend::run in the program, the host backend in tests. `records` as there.
using UnitRunner = std::function<std::vector<std::vector<LaneTally>>(int device, std::span<const UnitOfLanes> units,
                                                                     std::span<LaneRecord> records)>;

/// A preparer for the calling thread on `device`.
using PreparerFactory = std::function<ReplicationPreparer(int device)>;

/// As run_sweep, over options.devices.ids. The bytes do not depend on how many devices of one kind there are, nor on
/// the groups. A group that finds no room while others hold the device's memory runs again when they are done.
void run_device_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
                      const UnitRunner& run, const UnitSink& sink, DeviceGroups groups = {});

}  // namespace pandora
