// One lane of a study by its name: found, and run alone; and a replication as a table.
#pragma once

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// A study's file, or the study in a folder of results. Throws Error (usage, bad_data).
StudyConfig read_study_or_results(const std::string& path);

/// A lane by its policy.
struct LaneChoice {
  std::string policy;  ///< NAME or NAME/REWARD
  std::optional<int> T0;
  std::string environment, regime;  ///< empty: the first that has it
  int replication = 0;
};

/// The name of the lane with the policy's best hyperparameters in a folder of results; what is left open is the first
/// that fits. Throws Error (usage) if there is none.
std::string best_lane(const std::string& path, const std::string& setting, const LaneChoice& wanted);

/// Names of all lanes of one setting, as --lane takes them: ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD and, where
/// there are any, /HYPERPARAMETERS.
std::vector<std::string> lane_names(const PlannedSetting& planned);

/// The setting with that label (empty where nothing varies) that has the environment, or the first with that label.
/// Throws Error (usage) naming what there is.
const PlannedSetting& find_setting(const std::vector<PlannedSetting>& settings, const std::string& label,
                                   const std::string& environment = "");

/// A lane with its replication, and what a run of it alone and of the oracle gives.
class FoundLane {
 public:
  /// Throws Error (usage), with the nearest names, if the setting has no such lane.
  FoundLane(const PlannedSetting& planned, const std::string& name);

  const Study& study() const { return planned_->setting.study; }
  Unit unit() const { return planned_->plan.units[unit_]; }
  const PlannedLane& lane() const { return planned_->plan.lanes[lane_]; }
  const std::string& name() const { return name_; }

  /// Everything that is drawn.
  Replication prepare() const;

  /// The table of outcomes that its environment is, or null; and the row of it behind period t, from 1.
  std::shared_ptr<const TraceWorld> table() const;
  std::size_t prompt(int t) const;

  /// The oracle's tally and the lane's, at lanes 0 and 1.
  UnitResult run(const Replication& replication) const;

 private:
  const PlannedSetting* planned_;
  std::string name_;
  std::size_t unit_ = 0, lane_ = 0;
};

/// The lane of that name in the setting with that label; see find_setting and FoundLane.
FoundLane find_lane(const std::vector<PlannedSetting>& settings, const std::string& label, const std::string& name);

/// What became of a lane, as text: its tally, regret and curve. Both lanes are FoundLane::run's.
std::string replay_text(const FoundLane& found, const UnitResult& result);

// A replication of any environment as a table of outcomes:

struct ExportedTrace {
  std::string jsonl;  ///< the table, nested JSONL: a line for x_0, each calibration and each online period
  std::string toml;   ///< the [environment.NAME] that reads it back
};

/// The replication of the setting's study with all that its policies are given: contexts, phi, mu*, costs, rewards and
/// the benchmark's indices, in numbers that are read back exactly. A study of the table under the keys of `toml` gives
/// every lane the same bytes, those of policies that look at the instance's parameters (informed_weitzman,
/// adaptive_oracle) aside. `name`: of the environment that it becomes; `path`: where the table will be. Throws Error
/// (usage) where a mu* is outside [0, 1] or a cost negative, which a table cannot hold.
ExportedTrace export_trace(const PlannedSetting& planned, const Unit& unit, const std::string& name,
                           const std::string& path);

}  // namespace pandora
