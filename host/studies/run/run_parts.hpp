// What a folder of results lacks of a study, for runs that complete it, and for their plans.
#pragma once

#include "host/studies/run/run_study.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// Units of a setting's parts that lack the same lanes.
struct Lack {
  /// Some units of a part that follow each other, beginning with the part's unit `place` and this lack's unit `first`.
  struct Run {
    std::size_t part, place, first, count;
  };
  std::vector<bool> there;  ///< lanes of the plan; none if the study simulates no policies
  std::vector<Run> where;   ///< parts are few however many units they have

  std::size_t units() const { return where.empty() ? 0 : where.back().first + where.back().count; }
  const Run& run_of(std::size_t unit) const;
  /// In the plan's order.
  std::vector<std::size_t> lanes_to_run() const;
  /// Lanes over all units; of a study without policies, units.
  std::size_t work() const;
  void add(std::size_t part, std::size_t place, std::size_t count);
};

/// What is missing of the setting's parts; none of it is empty. Throws as ResultFolder::load does.
std::vector<Lack> lacks_of(ResultFolder& folder, const PlannedSetting& planned, const std::vector<Part>& parts);

/// The sweep that gives a lack. Lanes do not depend on each other: a plan of those that are wanted gives what the whole
/// one would.
PlannedSweep sweep_of(const PlannedSetting& planned, const std::vector<Part>& parts, const Lack& lack);

/// The sweeps and the parts that a run into options.out under resume or extend would do; looks at the folder and writes
/// nothing. Throws what such a run throws before its first part.
struct MissingWork {
  std::vector<PlannedSweep> sweeps;
  std::vector<Part> parts;
  std::size_t parts_of_study = 0;
};
MissingWork missing_work(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                         const RunOptions& options);

/// Runs the parts, setting by setting, and stores each one when its last unit is there; `stored` counts what reached
/// the disk, also if this throws: Error (interrupted, output_lost, device, usage). `cache` may be null.
void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored);

}  // namespace pandora
