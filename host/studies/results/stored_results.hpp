// A folder of results as it is read: by merge, show, compare, report and explain. It may still be in the making. And
// the final files and tables of one whose parts are all there.
#pragma once

#include "host/studies/results/result_folder.hpp"
#include "host/studies/results/summary.hpp"

namespace pandora {

/// Called with the results of one (setting, environment, regime) and a plan of its units. Of parts, or lanes of parts, that
/// are not there, results are empty (see counts()) where the folder is shown; else they were there a moment ago: Error
/// (output_lost).
using GroupBody = std::function<void(std::size_t setting, const Plan& group, const std::vector<UnitResult>& results)>;
void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    const GroupBody& body);

/// The study as it lies beside the results. Throws Error (bad_data) if it is not the one that they were made of.
/// `foreign`: another build of the program made them.
StudyConfig study_of_results(const ResultFolder& folder, bool foreign);

class StoredResults {
 public:
  /// Throws Error (bad_data) if the folder holds no results, is damaged or of another format, with what to do. A part
  /// that is damaged is told to `note` and counts as missing. Results of other versions and of other programs are read
  /// too: keys that are not known here are told to `note`; policies that are not are known by their names alone.
  StoredResults(const std::string& path, const DamageNote& note);

  const std::string& path() const { return path_; }
  const StudyConfig& config() const { return config_; }
  const std::vector<PlannedSetting>& settings() const { return settings_; }
  const Identity& identity() const { return folder_.identity(); }
  const nlohmann::json& manifest() const { return folder_.manifest(); }

  void for_each_group(const GroupBody& body);

  /// The same part by part, which takes less memory, for the groups that are wanted: `first` is the unit of results[0],
  /// the others are the replications after it.
  using Wanted = std::function<bool(std::size_t setting, const Unit& any)>;
  using PartBody = std::function<void(std::size_t setting, const Unit& first, const std::vector<UnitResult>& results)>;
  void for_each_part(const Wanted& wanted, const PartBody& body);

  /// Summaries of all settings.
  std::vector<SettingSummary> summaries();

  /// Empty if all is there, else such as "unfinished: 120 of 300 parts are complete".
  std::string unfinished();

 private:
  StoredResults(const std::string& path, std::pair<ResultFolder, StudyConfig> found, const DamageNote& note);

  std::string path_;
  ResultFolder folder_;
  StudyConfig config_;
  std::vector<PlannedSetting> settings_;
  std::vector<Part> parts_;
};

/// Adds what one group says to a setting's summary.
void append(Summary&& group, Summary& whole);

/// The parts of which the folder has not all.
std::vector<Part> lacking_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings,
                                const std::vector<Part>& parts);

struct Findings {
  std::size_t failed_lanes = 0;
  std::vector<SettingSummary> settings;  ///< what the tables are made of
};

/// How many lanes of the results are failures.
std::size_t failed_lanes(const std::vector<UnitResult>& results);

/// Reads all parts, a group at a time, and writes everything that is made of them. `program` is what replays a lane.
/// Throws Error (output_lost).
Findings write_results(ResultFolder& folder, const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                       const std::vector<Part>& parts, const std::string& program);

}  // namespace pandora
