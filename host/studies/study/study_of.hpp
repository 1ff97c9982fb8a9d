// Makes the study from the values of its keys, and checks whether they contradict each other.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

/// The values must contain every general key. Throws Error (usage) if one is out of range or contradicts another.
/// `environments`: the names that are known or that the study defines, for error messages. `foreign`: unknown policies
/// and environments belong to another program and are no mistake.
Study study_of(const StudyValues& values, const std::vector<std::string>& environments, bool foreign);

/// The study for one of its environments only, which is a table of outcomes, with the table's sizes. Throws Error if the
/// table is too small for it.
Study study_of_table(const Study& all, const Environment& environment);

}  // namespace pandora
