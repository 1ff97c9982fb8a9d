// A study from its configuration to its folder of results: how it is run, merged or extended, and what that gives.
#pragma once

#include <cstddef>

#include "host/ground/machine/ranks.hpp"
#include "host/lanes/devices/backend_choice.hpp"
#include "host/lanes/engine/lanes.hpp"
#include "host/studies/results/stored_results.hpp"
#include "host/studies/sweep/oracle_cache.hpp"

namespace pandora {

/// This process does the parts whose number is `index` modulo `count`.
struct Shard {
  int index = 0, count = 1;

  /// "i/n" with 0 <= i < n; throws Error (usage) otherwise.
  static Shard parse(const std::string& text);
};

/// The backend that serves all settings; `backend` and `devices` as choose_backend's. Throws Error (usage, device).
BackendChoice backend_for(const std::string& backend, const std::string& devices,
                          const std::vector<PlannedSetting>& settings);

/// The identity of results with that backend on this machine. Runs small sweeps on it: some hundredths of a second.
Identity identity_for(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                      const BackendChoice& backend);

struct RunOptions {
  std::string out;         ///< empty: the next free results/NNN
  std::string study_file;  ///< where the study was read, so that results do not replace it; may be empty
  ResultFolder::Mode mode = ResultFolder::Mode::fresh;
  Shard shard;
  BackendChoice backend;
  int threads = 1;
  std::string oracle_cache;         ///< folder; empty: none
  std::string command;              ///< the command line, for the manifest
  std::string program = "pandora";  ///< what replays a lane
  const std::atomic<bool>* interrupted = nullptr;
  /// Called once the folder is claimed and nothing has been run yet.
  std::function<void(const std::filesystem::path& folder, std::size_t parts_there, std::size_t parts)> started;
  std::function<void(std::size_t lanes_done, std::size_t lanes)> progress;
  /// Told of the first lanes that fail, when they do.
  std::function<void(const std::string& message)> failed;
  DamageNote note;
};

struct RunOutcome {
  std::filesystem::path folder;
  std::size_t parts = 0, parts_there = 0;  ///< of the whole study; in the folder
  bool complete = false;                   ///< all parts are there and the final files are written
  Findings findings;                       ///< tables of a complete study, failed lanes also of a shard's own
};

/// Runs what is missing of this process's share. When all parts are there, writes the final files. Throws Error:
/// interrupted (what was finished is on disk), output_lost, mismatch, usage, device.
RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks);

/// In merge_folders.cpp: puts the parts of several folders of one study together. Throws Error (mismatch) if they are
/// not of one study, build and arithmetic, Error (bad_data) naming what is missing.
RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options);

/// Runs the parts, setting by setting, and stores each one when its last unit is there; `stored` counts what reached
/// the disk, also if this throws: Error (interrupted, output_lost, device, usage). `cache` may be null.
void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored);

// What a study will need, before it runs:

/// In unkept_budgets.cpp: which budgets of cost nothing can keep, by estimates from a few replications; empty if none is so.
std::string unkept_budgets(const std::vector<PlannedSetting>& settings);

/// A sweep that is to be run for a setting: all of it, or what a folder lacks.
struct PlannedSweep {
  const PlannedSetting* setting;
  Study study;
  Plan plan;
};

/// One for each setting.
std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings);

/// What a trial has played, for people.
struct TrialSize {
  std::size_t lanes = 0, units = 0;
  int periods = 0;       ///< the longest horizon
  double seconds = 0.0;  ///< wall time
};

struct Forecast {
  std::size_t units = 0, lanes = 0;  ///< replications over all (environment, regime); lanes over all units
  double policy_periods = 0.0;
  std::uint64_t bytes = 0;  ///< peak of a process on the CPU: of a sweep with the results of a part that is not
                            ///< complete yet, or of tables and results.h5 while they are made
  double seconds = 0.0, processor_seconds = 0.0;  ///< calibrations too; wall time is that of one process alone here
  bool rough = false;                             ///< the trial was smaller than the study in more than its horizon
  TrialSize trial;
};

/// Runs a trial (trial.hpp): a few seconds, however large the study is and however many settings it has.
Forecast forecast(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps, int threads);

/// The forecast with how `processes` (shards and ranks) share the parts that are to be done.
std::string forecast_text(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps,
                          const std::vector<Part>& parts, int threads, int processes);

/// What the sweeps need on a GPU of that memory (GiB), whether there is one here or not: how replications are put together,
/// memory there and here, and a time that is a model. Throws Error (usage) for a study that runs on the CPU alone.
std::string device_forecast_text(const std::vector<PlannedSweep>& sweeps, double memory);

// In planned_memory.cpp: what a sweep and its results take of a machine's memory.

/// Lanes of one policy's variant that are planned together, and what kind of lane they are. T_0 is each lane's own.
struct LaneGroup {
  std::size_t first = 0, count = 0;  ///< in the plan
  LaneSpec spec;                     ///< where they are rules
  CodeDemand demand;                 ///< where they are code
  bool is_code = false;

  /// With which power of the context's length their time grows where that is large: products of matrices and vectors;
  /// of matrices where fits are joint.
  int power_of_context() const { return is_code ? demand.power_of_context : spec.fits_jointly() ? 3 : 2; }
};

/// The plan's lanes in order. Asks the policies on a replication as small as can be; a policy or an environment of
/// one's own that takes no such replication counts as rules without a need.
std::vector<LaneGroup> lane_groups(const Study& study, const Plan& plan);

/// Bytes that `threads` workers hold at the most while they prepare and run; no number of replications enters.
std::uint64_t sweep_bytes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups, int threads);

/// Bytes of a replication's tape with its benchmark, on the host.
std::uint64_t tape_bytes(const Study& study, const Plan& plan);

/// A unit's results as they are kept until a part or a group of parts is whole; and as numbers in a file.
struct UnitBytes {
  std::uint64_t kept = 0, written = 0;
};
UnitBytes unit_bytes(const Study& study, const Plan& plan);

/// Bytes of a part that is complete, as results, as a document, as its bytes and with its header.
std::uint64_t part_bytes(const Study& study, const Plan& plan);

/// Bytes that tables and results.h5 of a whole study take while they are made.
std::uint64_t table_bytes(const Study& study, const Plan& plan);

// In run_parts.cpp: what a folder of results lacks of a study, for runs that complete it, and for their plans.

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

}  // namespace pandora
