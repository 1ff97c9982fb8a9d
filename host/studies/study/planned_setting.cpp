#include "host/studies/study/planned_setting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/lanes/model/trace_world.hpp"
#include "host/studies/study/study_keys.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// The study of a table alone, with the table's sizes.
Study of_table(const Study& all, const Environment& environment) {
  const TraceSizes sizes = trace_sizes(environment);
  const TraceKeys& keys = *trace_keys(environment);
  Study study = all;
  study.environments = {environment};
  study.dimensions = sizes.dimensions();
  study.regimes = {keys.regime == "A" ? Regime::A : Regime::B};
  study.order = false;
  study.instances = false;
  const int T0 = *std::max_element(all.T0.begin(), all.T0.end());
  if (T0 >= sizes.calibration)
    throw Error(ExitCode::usage,
                fmt::format("environment {}: T0 = {} periods, and its table has {} prompts for calibration, of which "
                            "one is x_0; give less, or a larger environment.{}.split",
                            environment.name, T0, sizes.calibration, environment.name));
  if (!keys.repeat) study.periods = std::min(all.periods, sizes.online);
  return study;
}

}  // namespace

std::vector<PlannedSetting> make_plans(const StudyConfig& config) {
  std::vector<PlannedSetting> out;
  std::size_t number = 0;
  for (const Setting& setting : config.settings()) {
    const auto add = [&](Study study) {
      Plan plan = make_plan(study);
      out.push_back({{setting.varied, std::move(study)}, std::move(plan), number});
    };
    Study of_model = setting.study;
    std::erase_if(of_model.environments, [](const Environment& e) { return e.trace != nullptr; });
    if (!of_model.environments.empty() || setting.study.environments.empty()) add(of_model);
    for (const Environment& environment : setting.study.environments)
      if (environment.trace != nullptr) add(of_table(setting.study, environment));
    ++number;
  }
  return out;
}

bool has_table(const std::vector<PlannedSetting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const PlannedSetting& planned) {
    const std::vector<Environment>& all = planned.setting.study.environments;
    return std::any_of(all.begin(), all.end(), [](const Environment& e) { return e.trace != nullptr; });
  });
}

void fill_in_tables(StudyConfig& config) {
  for (const Setting& setting : config.settings())
    for (const Environment& environment : setting.study.environments) {
      if (environment.trace == nullptr) continue;
      const auto world = TraceWorld::of(*trace_keys(environment), environment.name);
      const auto fill_in = [&](const char* key, const std::string& value) {
        config.set(fmt::format("environment.{}.{}", environment.name, key), value, trace_keys(environment)->table);
      };
      StudyValue models;
      models.kind = StudyValue::Kind::texts;
      models.texts = world->models();
      fill_in("models", models.toml());
      fill_in("digest", world->digest());
      fill_in("sizes", fmt::format("[{}]", fmt::join(world->sizes().list(), ", ")));
    }
}

}  // namespace pandora
