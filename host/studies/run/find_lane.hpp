// Finds one lane of a study by its name and runs it alone; also writes a replication as a table.
#pragma once

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/prepare_replication.hpp"

namespace pandora {

/// Reads a study's file, or the study in a folder of results. Throws Error (usage, bad_data).
StudyConfig read_study_or_results(const std::string& path);

/// Describes a lane by its policy.
struct LaneChoice {
  std::string policy;  ///< NAME or NAME/REWARD
  std::optional<int> T0;
  std::string environment, regime;  ///< empty: the first one with that policy
  int replication = 0;
};

/// The name of the lane with the policy's best hyperparameters in a folder of results; the first lane that matches
/// `wanted`. Throws Error (usage) if there is none.
std::string best_lane(const std::string& path, const std::string& setting, const LaneChoice& wanted);

/// The names of all lanes of one setting, as --lane takes them: ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD and, if
/// there are hyperparameters, /HYPERPARAMETERS.
std::vector<std::string> lane_names(const PlannedSetting& planned);

/// The setting with that label (empty if nothing varies) that has the environment, or the first with that label. Throws
/// Error (usage) with the existing ones.
const PlannedSetting& find_setting(const std::vector<PlannedSetting>& settings, const std::string& label,
                                   const std::string& environment = "");

/// A lane with its replication, and the results of running it alone and of the oracle.
class FoundLane {
 public:
  /// Throws Error (usage), with the nearest names, if the setting has no such lane.
  FoundLane(const PlannedSetting& planned, const std::string& name);

  const Study& study() const { return planned_->setting.study; }
  Unit unit() const { return planned_->plan.units[unit_]; }
  const PlannedLane& lane() const { return planned_->plan.lanes[lane_]; }
  const std::string& name() const { return name_; }

  /// Draws the replication.
  Replication prepare() const { return prepare_replication(study(), planned_->plan, unit(), nullptr); }

  /// The table of outcomes of its environment, or null; and the table's row in period t, from 1.
  std::shared_ptr<const TraceWorld> table() const;
  std::size_t prompt(int t) const;

  /// The oracle's tally and the lane's, as lanes 0 and 1.
  UnitResult run(const Replication& replication) const;

 private:
  const PlannedSetting* planned_;
  std::string name_;
  std::size_t unit_ = 0, lane_ = 0;
};

/// The lane of that name in the setting with that label; see find_setting and FoundLane.
FoundLane find_lane(const std::vector<PlannedSetting>& settings, const std::string& label, const std::string& name);

/// The result of a lane as text: its tally, regret and curve. Both lanes come from FoundLane::run.
std::string replay_text(const FoundLane& found, const UnitResult& result);

// A replication of any environment as a table of outcomes:

struct ExportedTrace {
  std::string jsonl;  ///< the table as nested JSONL: a line for x_0, each calibration period and each online period
  std::string toml;   ///< the [environment.NAME] that reads the table
};

/// The replication of the setting's study with everything that its policies see: contexts, phi, mu*, costs, rewards and
/// the benchmark's indices, in numbers that are read back exactly. A study of the table with the keys of `toml` gives
/// every lane the same bytes, except for policies that use the instance's parameters (informed_weitzman,
/// adaptive_oracle). `name`: the new environment's name; `path`: where the table will be. Throws Error (usage) if a mu*
/// is outside [0, 1] or a cost is negative, because a table cannot hold these.
ExportedTrace export_trace(const PlannedSetting& planned, const Unit& unit, const std::string& name,
                           const std::string& path);

}  // namespace pandora
