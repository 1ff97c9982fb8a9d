// The result files in CSV: one unit per column, one observation per row, an empty cell where nothing is known.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/studies/results/summary.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// The keys that vary in a study, with their values in one setting: the first columns of every file.
using Varied = std::vector<std::pair<std::string, std::string>>;

/// What a group of results adds to the files, and the header of each.
class ResultRows {
 public:
  /// `program` replays a lane; see failures.csv. `tables`: whether an environment is a table of outcomes, for which
  /// summary.csv has further columns.
  ResultRows(const Varied& keys, const Plan& plan, std::string program, bool tables = false);

  /// The results of one (setting, environment, regime), all of them; `summary` is theirs.
  void add(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results, const Summary& summary);
  void add_summary(const Summary& summary, const Varied& varied);

  std::string summary;   ///< summary.csv: a row per policy, hyperparameter, T_0 and cell
  std::string oracle;    ///< oracle.csv
  std::string order;     ///< oracle_order.csv
  std::string curves;    ///< curves.csv: cumulative regret at the checkpoints, of the best hyperparameter
  std::string boxes;     ///< boxes.csv: queries and deployments of each box, of the best hyperparameter
  std::string depth;     ///< depth.csv: share of periods in which k boxes were opened, likewise
  std::string choices;   ///< choices.csv: what policies chose beforehand, a row per replication and position
  std::string failures;  ///< failures.csv: lanes that were stopped, each with the command that runs it alone

 private:
  void add_curves(const Study& study, const std::vector<UnitResult>& results, const SummaryRow& row,
                  const std::string& lead);
  void add_boxes(const Study& study, const std::vector<UnitResult>& results, const SummaryRow& row,
                 const std::string& lead);
  void add_choices(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results);
  void add_failures(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results);
  std::string lead_of(const SummaryRow& row, const Varied& varied) const;
  std::string lead_of(const Setting& setting, const Unit& unit, const PlannedLane& lane) const;
  std::string values_of(const std::string& hyperparameter) const;

  std::vector<std::string> hyperparameters_;
  std::string program_;
  bool tables_;
};

/// Text that a shell takes as one word.
std::string shell_word(const std::string& text);

}  // namespace pandora
