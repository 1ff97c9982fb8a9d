// The parts of a study on this machine's cores or devices, into its folder.
#pragma once

#include <cstddef>
#include <vector>

#include "host/studies/run/run_options.hpp"
#include "host/studies/sweep/oracle_cache.hpp"

namespace pandora {

/// Runs the parts, setting by setting, and stores each one when its last unit is there; `stored` counts what reached
/// the disk, also if this throws: Error (interrupted, output_lost, device, usage). `cache` may be null.
void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored);

}  // namespace pandora
