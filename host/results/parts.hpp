// How a study is cut into parts, the pieces in which results reach the disk and shards and ranks share the work, and a
// part as a file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/results/identity.hpp"
#include "host/study/study_config.hpp"
#include "host/sweep/sweep.hpp"

namespace pandora {

/// A setting with its plan.
struct PlannedSetting {
  Setting setting;
  Plan plan;
};
std::vector<PlannedSetting> make_plans(const StudyConfig& config);

/// Some replications of one (setting, environment, regime): units [first, last) of the setting's plan.
struct Part {
  std::size_t setting = 0;
  std::size_t first = 0, last = 0;
  std::string name;  ///< of its file, such as "000-uniform-A-00010.part"
};

/// All parts in order. A part is one replication up to R = 50, and R / 50 beyond, so that an interruption costs little
/// and folders stay small. How many machines run the study does not matter.
std::vector<Part> make_parts(const std::vector<PlannedSetting>& settings);

/// Numbers that a part keeps of a lane.
std::size_t tally_size(const Study& study);

/// The content of a part's file; `results` are its units'.
nlohmann::json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                            const std::vector<UnitResult>& results);

/// The identity that a part was written under. Throws Damaged if there is none.
Identity part_identity(const nlohmann::json& content);

/// What part_content was given. Throws Damaged if the content is not that part of that study; any content is safe.
std::vector<UnitResult> part_results(const PlannedSetting& planned, const Part& part, const nlohmann::json& content);

}  // namespace pandora
