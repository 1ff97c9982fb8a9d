// The columns of a folder's CSV files, which Python has as data frames. Each is described once, here.
#pragma once

#include "host/ground/tables/columns.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// The keys that vary in a study, with their values in one setting: the first columns of every file.
using Varied = std::vector<std::pair<std::string, std::string>>;

/// Collects the rows of the files.
class ResultRows {
 public:
  /// `program` is the command that replays a lane; see failures.csv. `tables`: whether an environment is a table of
  /// outcomes; summary.csv then has further columns.
  ResultRows(const Varied& keys, const Plan& plan, std::string program, bool tables = false);

  /// Adds the results of one (setting, environment, regime), which must be complete; `summary` is made from them.
  void add(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results, const Summary& summary);

  // The steps of add():
  void add_summary(const Summary& summary, const Varied& varied);
  /// Adds the curves, boxes and depth of a summary row.
  void add_row(const Setting& setting, const std::vector<UnitResult>& results, const SummaryRow& row);
  /// Adds the choices and failures of every lane.
  void add_lanes(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results);

  /// By name without .csv: summary (a row per policy, hyperparameter, T_0 and cell), oracle, oracle_order, curves
  /// (cumulative regret at the checkpoints), boxes (queries and deployments of each), depth (share of periods in which
  /// k boxes were opened), choices (the boxes and thresholds that policies chose beforehand, a row per replication and
  /// position), failures (stopped lanes, each with the command that runs it alone). Curves, boxes and depth are for the
  /// best hyperparameters.
  std::map<std::string, Columns> files;
  std::string csv(const std::string& file) const { return files.at(file).csv(); }

 private:
  void add_lane(const Setting& setting, const Unit& unit, const PlannedLane& lane, const LaneTally& tally,
                const LaneNotes& notes);
  Fields summary_fields(const SummaryRow& row, const Varied& varied);
  /// The first fields of rows about a lane, in one replication or over all.
  Fields lead_of(const Varied& varied, const std::string& regime, const std::string& environment,
                 std::optional<std::uint32_t> replication, double T0, const std::string& policy,
                 const std::string& reward, const std::string& hyperparameter) const;
  Fields lead_of(const SummaryRow& row, const Varied& varied) const;

  std::vector<std::string> hyperparameters_;
  std::set<std::string> texts_;  // those whose values are texts
  std::string program_;
  bool tables_;
};

/// Quotes text so that a shell takes it as one word.
std::string shell_word(const std::string& text);

}  // namespace pandora
