// Studies: their text, keys and lanes. Also single lanes: found by name, run again, explained.
#include "studies.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/run/explain.hpp"
#include "host/studies/run/find_lane.hpp"
#include "host/studies/study/study_keys.hpp"
#include "pandora/error.hpp"

namespace pandora::python {

void read_tables(StudyConfig& config, Beside& work) {
  TraceWorld::set_progress([&work](const std::string&, std::uint64_t, std::uint64_t) {
    if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted; nothing was written");
  });
  const struct Reset {
    ~Reset() { TraceWorld::set_progress({}); }
  } reset;
  fill_in_tables(config);
}

namespace {

// Appends these names to a key's list.
void add_names(StudyConfig& config, const std::string& key, Texts all, const Texts& names) {
  std::string list;
  for (const std::string& name : names)
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  for (const std::string& name : all) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  config.set(key, "[" + list + "]", key + " of pandora.run");
}

// Adds policies that are Python code to those that the study names.
void add_policies(StudyConfig& config, const Texts& names) {
  if (names.empty()) return;
  Texts all = config.values().at("policies").texts;
  if (all.empty())
    for (const Policy& policy : all_policies())
      if (!policy.by_name_only) all.push_back(policy.name);
  add_names(config, "policies", std::move(all), names);
}

void add_environments(StudyConfig& config, const Texts& names, bool named) {
  if (names.empty()) return;
  add_names(config, "environments", named ? config.values().at("environments").texts : Texts(), names);
}

std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> keys() {
  std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> out;
  for (const StudyKey& key : study_keys()) out.emplace_back(key.name, key.type, key.unit, key.meaning, key.standard);
  return out;
}

}  // namespace

void bind_studies(nb::module_& module) {
  nb::class_<StudyConfig>(module, "StudyConfig", "A study as the program reads it.")
      .def(nb::init<>(), "The paper's study.")
      .def_static(
          "parse", [](const std::string& text, const std::string& name) { return StudyConfig::parse(text, name); },
          nb::arg("text"), nb::arg("name"), "The study that a text in TOML is; `name` stands in errors.")
      .def_static("read", &read_study_file, nb::arg("path"), "The study of a file.")
      .def_static("of", &read_study_or_results, nb::arg("path"), "The study of a file or of a folder of results.")
      .def("copy", [](const StudyConfig& config) { return StudyConfig(config); })
      .def("set", &StudyConfig::set, nb::arg("key"), nb::arg("value"), nb::arg("where"),
           "Replaces the value of a key by one written as TOML.")
      .def("add_policies", &add_policies, nb::arg("names"))
      .def("add_environments", &add_environments, nb::arg("names"), nb::arg("to_those_named"))
      .def(
          "is_given",
          [](const StudyConfig& config, const std::string& key) {
            const auto values = config.values();
            const auto value = values.find(key);
            return value != values.end() && value->second.where != "default of " + key;
          },
          nb::arg("key"), "Whether the study says a value of its own.")
      .def("check", [](const StudyConfig& config) { (void)config.settings(); })
      .def("toml", &StudyConfig::toml, "The whole study as a file.");
  module.def("study_keys", &keys, "Name, type, unit, meaning and default of every key of a study.");
  module.def(
      "lanes",
      [](const StudyConfig& config, const std::string& setting) {
        return beside([&](Beside&) {
          const std::vector<PlannedSetting> settings = make_plans(config);
          if (!setting.empty()) (void)find_setting(settings, setting);
          std::vector<std::pair<std::string, std::string>> out;
          for (const PlannedSetting& planned : settings)
            if (const std::string label = planned.setting.label(); setting.empty() || label == setting)
              for (std::string& name : lane_names(planned)) out.emplace_back(std::move(name), label);
          return out;
        });
      },
      nb::arg("study"), nb::arg("setting"), "Name and setting of every lane.");
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
        return beside([&](Beside&) {
          const std::vector<PlannedSetting> settings = make_plans(study);
          using nlohmann::json;
          return explain(find_lane(settings, setting, lane), first, last)
              .told.dump(-1, ' ', false, json::error_handler_t::replace);
        });
      },
      nb::arg("study"), nb::arg("setting"), nb::arg("lane"), nb::arg("first"), nb::arg("last"),
      "Explains periods of a lane, as JSON.");
  module.def(
      "replay",
      [](const StudyConfig& study, const std::string& setting, const std::string& lane) {
        return beside([&](Beside&) {
          const std::vector<PlannedSetting> settings = make_plans(study);
          const FoundLane found = find_lane(settings, setting, lane);
          return replay_text(found, found.run(found.prepare()));
        });
      },
      nb::arg("study"), nb::arg("setting"), nb::arg("lane"), "A lane run alone: its sums, regret and curve as text.");
}

}  // namespace pandora::python
