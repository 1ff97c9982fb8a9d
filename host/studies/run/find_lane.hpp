// One lane of a study by its name: found, run alone, explained; and a replication as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

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

// Single periods of a lane, taken apart, in explain.cpp: what it saw, what it did and why, and what the oracle would
// have done.

/// An opened box, in the order of opening.
struct ExplainedQuery {
  int box = 0;            ///< from 1
  double mu = 0.0;        ///< mu* of its output
  double cost = 0.0;      ///< c_a(x_t, omega_ta)
  double estimate = 0.0;  ///< the lane's mu of the output, (eq:mu:tilde); mu* itself where the reward is known
  bool known = true;      ///< whether there is an estimate: a policy of one's own keeps it to itself
};

struct ExplainedBox {
  int box = 0;              ///< from 1
  double prediction = 0.0;  ///< rho_hat' psi(x_t), LinUCB's eta_hat' psi
  double width = 0.0;       ///< ||psi(x_t)||_{V^-1}; 0 where the policy has no bonus
  double bonus = 0.0;       ///< what is added to the prediction: the width times a factor of the policy
  double score = 0.0;       ///< the number it is ranked by: Lambda(prediction + bonus), LinUCB's payoff
  double sigma = 0.0;       ///< the oracle's reservation index sigma*_a(x_t)
  /// E[c_a(x_t, omega)], which sigma balances (eq:oracle-weitzman-index); none where the environment is code of its own
  std::optional<double> expected_cost;
  double context_cost = 0.0;  ///< the part of it that the context alone tells, c_{0,a} G(beta_{0,a}' x)
  double scale = 0.0;         ///< s_a(x_t) of the output's shock; 0 where the environment tells none
  double reward_shift = 0.0;  ///< theta_*' Q x_t, with Q_a where each box has its own
  bool there = true;          ///< whether it can be opened in this period
};

struct ExplainedWalk {
  std::vector<ExplainedQuery> queries;
  int deployed = 0;      ///< box, from 1
  std::string stopped;   ///< why it stopped
  double utility = 0.0;  ///< mu* of the deployed output minus the costs
};

struct ExplainedPeriod {
  int period = 0;      ///< t, from 1
  std::string prompt;  ///< its name and the beginning of its text, in a table of outcomes
  std::vector<float> psi;
  std::optional<double> reward_shift;  ///< theta_*' Q x_t, where it is that of all boxes
  std::vector<ExplainedBox> boxes;
  ExplainedWalk own, oracle;
  double reward = 0.0;         ///< what is told of the deployed output
  double regret = 0.0;         ///< of the period
  double regret_so_far = 0.0;  ///< periods 1 .. t
};

struct Explanation {
  std::string lane;
  std::string score_name;       ///< what the scores are; empty if the lane ranks by none
  std::string prediction_name;  ///< what is learned of them, such as rho'psi; empty if nothing, or a policy's own code
  bool linked = false;          ///< whether a score is tanh(prediction + bonus) and not the sum itself
  bool knows_reward = false;
  std::vector<std::string> models;  ///< names of the boxes, in a table of outcomes; else empty
  std::vector<ExplainedPeriod> periods;
};

/// Periods `first` to `last`, 1-based. Runs the lane alone with the study's engine on the CPU. Throws Error (usage) if
/// a period is not there, Error (internal) if the lane fails before.
Explanation explain(const FoundLane& found, int first, int last);

std::string explanation_text(const Explanation& explanation);
nlohmann::json explanation_json(const Explanation& explanation);

}  // namespace pandora
