// A setting of a study with its plan.
#pragma once

#include <vector>

#include "host/study/study_config.hpp"

namespace pandora {

struct PlannedSetting {
  Setting setting;
  Plan plan;
};
std::vector<PlannedSetting> make_plans(const StudyConfig& config);

}  // namespace pandora
