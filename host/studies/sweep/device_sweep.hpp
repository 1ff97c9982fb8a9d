// Sweeps on GPUs: every device prepares replications and runs the lanes of many of them in lockstep, on a few streams
// each.
#pragma once

#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// How a device divides its work: the groups that run at the same time, and the replications of a group, if there are
/// that many and they fit. Each group has its own thread and stream, so that one copies or waits while another
/// computes. Meanwhile a replication takes 20 MB on the host.
struct DeviceGroups {
  std::size_t units = 80;
  std::size_t per_device = 4;
};

/// If lanes go from stage to stage, groups together hold the whole paper: late in a run few boxes wait for a solve in
/// the same block, so more lanes use a device better. If lanes go in cohorts, groups hold only enough to fill a large
/// device, and the next replications are prepared beside them.
DeviceGroups groups_of(const Study& study);

/// Runs units on `device`: Backend::run in the program, the host backend in tests. `records` is the same as there.
using UnitRunner = std::function<std::vector<std::vector<LaneTally>>(int device, std::span<const UnitOfLanes> units,
                                                                     std::span<LaneRecord> records)>;

/// A preparer for the calling thread on `device`.
using PreparerFactory = std::function<ReplicationPreparer(int device)>;

/// Like run_sweep, over options.devices.ids. The bytes depend neither on the number of devices of one kind nor on the
/// groups. If a group finds no room while others hold the device's memory, it runs again when they are done.
void run_device_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
                      const UnitRunner& run, const UnitSink& sink, DeviceGroups groups = {});

}  // namespace pandora
