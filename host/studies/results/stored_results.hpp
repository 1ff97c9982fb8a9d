// Reads a folder of results for merge, show, compare, report and explain; it may still be in progress. Also makes the
// final files and tables of a folder whose parts are all there.
#pragma once

#include "host/studies/results/result_folder.hpp"
#include "host/studies/results/summary.hpp"

namespace pandora {

/// Called with the results of one (setting, environment, regime) and a plan of its units. If the folder is shown,
/// missing parts and lanes have empty results (see counts()). Otherwise they existed a moment ago, and Error
/// (output_lost) is thrown.
using GroupBody = std::function<void(std::size_t setting, const Plan& group, const std::vector<UnitResult>& results)>;
void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    const GroupBody& body);

/// The study that lies beside the results. Throws Error (bad_data) if it is not the one with which they were made.
/// `foreign`: another build of the program made them.
StudyConfig study_of_results(const ResultFolder& folder, bool foreign);

class StoredResults {
 public:
  /// Throws Error (bad_data), with the remedy, if the folder holds no results, is damaged or has another format. A
  /// damaged part is reported to `note` and counts as missing. Results of other versions and programs can be read too:
  /// unknown keys are reported to `note`, and unknown policies have only a name.
  StoredResults(const std::string& path, const DamageNote& note);

  const std::string& path() const { return path_; }
  const StudyConfig& config() const { return config_; }
  const std::vector<PlannedSetting>& settings() const { return settings_; }
  const Identity& identity() const { return folder_.identity(); }
  const nlohmann::json& manifest() const { return folder_.manifest(); }

  void for_each_group(const GroupBody& body);

  /// The same part by part, which takes less memory, for the parts that are wanted. `first` is the unit of results[0];
  /// the others are the replications after it.
  using Wanted = std::function<bool(const Part& part, const Unit& first)>;
  using PartBody = std::function<void(std::size_t setting, const Unit& first, const std::vector<UnitResult>& results)>;
  void for_each_part(const Wanted& wanted, const PartBody& body);

  /// Summaries of all settings.
  std::vector<SettingSummary> summaries();

  /// Empty if everything is there, otherwise a text such as "unfinished: 120 of 300 parts are complete".
  std::string unfinished();

 private:
  StoredResults(const std::string& path, std::pair<ResultFolder, StudyConfig> found, const DamageNote& note);

  std::string path_;
  ResultFolder folder_;
  StudyConfig config_;
  std::vector<PlannedSetting> settings_;
  std::vector<Part> parts_;
};

/// Appends the rows of one group to a setting's summary.
void append(Summary&& group, Summary& whole);

/// The parts that are not complete in the folder.
std::vector<Part> lacking_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings,
                                const std::vector<Part>& parts);

struct Findings {
  std::size_t failed_lanes = 0;
  std::vector<SettingSummary> settings;  ///< the data of the tables
};

/// How many lanes of the results failed.
std::size_t failed_lanes(const std::vector<UnitResult>& results);

/// Reads all parts, a group at a time, and writes all files that are made from them. `program` is the command that
/// replays a lane. Throws Error (output_lost).
Findings write_results(ResultFolder& folder, const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                       const std::vector<Part>& parts, const std::string& program);

}  // namespace pandora
