#include "host/study/planned_setting.hpp"

namespace pandora {

std::vector<PlannedSetting> make_plans(const StudyConfig& config) {
  std::vector<PlannedSetting> out;
  for (Setting& setting : config.settings()) {
    Plan plan = make_plan(setting.study);
    out.push_back({std::move(setting), std::move(plan)});
  }
  return out;
}

}  // namespace pandora
