// The final files and tables of a study whose parts are all there.
#pragma once

#include <string>
#include <vector>

#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_folder.hpp"

namespace pandora {

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
