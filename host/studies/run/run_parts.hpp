// What a folder of results still lacks of a study, for runs that complete it and for their plans.
#pragma once

#include "host/studies/run/run_study.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// Units of a setting's parts that lack the same lanes.
struct Lack {
  /// Consecutive units of a part; the first is the part's unit `place` and this lack's unit `first`.
  struct Run {
    std::size_t part, place, first, count;
  };
  std::vector<bool> there;  ///< for each lane of the plan: whether it exists; empty if the study simulates no policies
  std::vector<Run> where;   ///< few entries, because parts are few however many units they have

  std::size_t units() const { return where.empty() ? 0 : where.back().first + where.back().count; }
  const Run& run_of(std::size_t unit) const;
  /// The numbers of the missing lanes, in the plan's order.
  std::vector<std::size_t> lanes_to_run() const;
  /// Lanes over all units; for a study without policies, units.
  std::size_t work() const;
  void add(std::size_t part, std::size_t place, std::size_t count);
};

/// The missing data of the setting's parts; every entry has some. Throws as ResultFolder::load does.
std::vector<Lack> lacks_of(ResultFolder& folder, const PlannedSetting& planned, const std::vector<Part>& parts);

/// The sweep that fills a lack. Lanes do not depend on each other, so a plan of only the missing lanes gives the same
/// results as the whole plan.
PlannedSweep sweep_of(const PlannedSetting& planned, const std::vector<Part>& parts, const Lack& lack);

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
