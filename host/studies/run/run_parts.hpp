// What a folder of results still lacks of a study, for runs that complete it and for their plans.
#pragma once

#include "host/studies/run/run_study.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// The sweeps and the parts of a run into options.out under resume or extend. It reads the folder and writes nothing.
/// Throws what such a run throws before its first part.
struct MissingWork {
  std::vector<PlannedSweep> sweeps;
  std::vector<Part> parts;
  std::size_t parts_of_study = 0;
};
MissingWork missing_work(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                         const RunOptions& options);

/// Runs the parts, setting by setting, and stores each when its last unit has come. `stored` counts the parts that
/// reached the disk, even if this throws Error (interrupted, output_lost, device, usage). `cache` may be null.
void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored);

}  // namespace pandora
