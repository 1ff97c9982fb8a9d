// The study that the values of its keys make, and where they contradict each other.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

/// The values hold every general key. Throws Error (usage) where one is out of range or contradicts another.
/// `environments`: the names that are known or that the study defines, for error messages. `foreign`: policies and
/// environments that are not known are of another program, and no mistake.
Study study_of(const StudyValues& values, const std::vector<std::string>& environments, bool foreign);

}  // namespace pandora
