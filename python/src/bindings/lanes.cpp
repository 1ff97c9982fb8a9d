// Single lanes: found by name, run again, taken apart.
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/studies/run/explain.hpp"
#include "pandora/custom_policy.hpp"

namespace pandora::python {

void bind_lanes(nb::module_& module) {
  module.def(
      "best_lane",
      [](const std::string& path, const std::string& setting, const std::string& policy, std::optional<int> T0,
         const std::string& environment, const std::string& regime, int replication) {
        return beside([&](Beside&) {
          return best_lane(path, setting, {policy, T0, environment, regime, replication});
        });
      },
      nb::arg("path"), nb::arg("setting"), nb::arg("policy"), nb::arg("T0").none(), nb::arg("environment"),
      nb::arg("regime"), nb::arg("replication"), "The lane with a policy's best hyperparameters.");
  module.def(
      "explain",
      [](const StudyConfig& study, const std::string& setting, const std::string& lane, int first, int last) {
        return beside([&](Beside& work) {
          const InterruptOfLane interrupt(&work.interrupted);
          const std::vector<PlannedSetting> settings = make_plans(study);
          using nlohmann::json;
          return explain(find_lane(settings, setting, lane), first, last)
              .told.dump(-1, ' ', false, json::error_handler_t::replace);
        });
      },
      nb::arg("study"), nb::arg("setting"), nb::arg("lane"), nb::arg("first"), nb::arg("last"),
      "Periods of a lane taken apart, as JSON.");
  module.def(
      "replay",
      [](const StudyConfig& study, const std::string& setting, const std::string& lane) {
        return beside([&](Beside& work) {
          const InterruptOfLane interrupt(&work.interrupted);
          const std::vector<PlannedSetting> settings = make_plans(study);
          const FoundLane found = find_lane(settings, setting, lane);
          return replay_text(found, found.run(found.prepare()));
        });
      },
      nb::arg("study"), nb::arg("setting"), nb::arg("lane"), "A lane run alone: its sums, regret and curve as text.");
}

}  // namespace pandora::python
