#include "host/run/replay.hpp"

#include <fmt/format.h>

#include "host/results/parts.hpp"
#include "host/results/regret_tables.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/runnable_lanes.hpp"
#include "pandora/error.hpp"

namespace pandora {

std::string replay_lane(const StudyConfig& config, const std::string& setting, const std::string& lane) {
  const std::vector<PlannedSetting> settings = make_plans(config);
  if (setting.empty() && settings.size() > 1)
    throw Error(ExitCode::usage,
                fmt::format("--setting: keys of the study vary; give one such as '{}'", settings[0].setting.label()));
  for (const PlannedSetting& planned : settings) {
    if (planned.setting.label() != setting) continue;
    const Study& study = planned.setting.study;
    for (const Unit& unit : planned.plan.units)
      for (std::size_t l = 0; l < planned.plan.lanes.size(); ++l) {
        if (unit_name(unit) + "/" + lane_name(planned.plan.lanes[l]) != lane) continue;
        const Replication replication = prepare_replication(study, planned.plan, unit, nullptr);
        UnitResult result;
        result.resize(planned.plan.lanes.size());
        run_planned_lanes(study, planned.plan, replication, l, l + 1, result);
        return "";
      }
  }
  throw Error(ExitCode::usage,
              fmt::format("--lane {}: the study has no such lane{}; failures.csv of its results names them", lane,
                          setting.empty() ? "" : " in setting " + setting));
}

}  // namespace pandora
