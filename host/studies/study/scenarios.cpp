// [scenario.NAME] of a study: a list of problems, where [vary] makes all combinations.
#include "host/studies/study/study_keys.hpp"
#include "pandora/environment.hpp"

namespace pandora {

InScenario in_scenario(const std::string& key) {
  constexpr std::string_view kPrefix = "scenario.";
  if (!key.starts_with(kPrefix)) return {std::nullopt, key};
  const std::size_t dot = std::min(key.find('.', kPrefix.size()), key.size());
  return {key.substr(kPrefix.size(), dot - kPrefix.size()), key.substr(std::min(dot + 1, key.size()))};
}

void require_varies(const StudyKey& key, const std::string& where) {
  if (key.is_list() || key.name == "title" || key.name.starts_with("output.") || !key.varies)
    refuse(where, fmt::format("{} cannot vary; keys of the study with a single value can", key.name));
}

void StudyConfig::begin_scenario(const std::string& name, const std::string& where) {
  if (!is_plain_name(name))
    refuse(where, fmt::format("a scenario cannot have the name \"{}\"; use at most 64 letters, digits, _ and -", name));
  if (std::ranges::count(scenarios_, name, &Scenario::name) == 0) scenarios_.push_back({name, {}});
}

void StudyConfig::require_scenario(const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios_) names.push_back(scenario.name);
  if (names.empty()) refuse(where, "the study has no scenarios; define one under [scenario.NAME], or leave it out");
  if (std::ranges::count(names, name) == 0)
    refuse(where, fmt::format("the study has no scenario \"{}\"{}; use {}", name, nearest_text(nearest(name, names)),
                              fmt::join(names, ", ")));
}

void StudyConfig::choose_scenarios(const std::vector<std::string>& names, const std::string& where) {
  std::vector<Scenario> chosen;
  for (const std::string& name : names) {
    require_scenario(name, where);
    if (std::ranges::count(chosen, name, &Scenario::name) > 0)
      refuse(where, fmt::format("{} is named twice; name each once", name));
    chosen.push_back(*std::ranges::find(scenarios_, name, &Scenario::name));
  }
  if (chosen.empty()) refuse(where, "names no scenario; name at least one");
  scenarios_ = std::move(chosen);
}

// A value of the study itself or, as scenario.NAME.KEY, one of a scenario that there is.
void StudyConfig::put(const std::string& key, StudyValue value) {
  const InScenario at = in_scenario(key);
  if (!at.scenario) {
    values_[key] = std::move(value);
    return;
  }
  auto& values = std::ranges::find(scenarios_, *at.scenario, &Scenario::name)->values;
  const auto there = std::ranges::find(values, at.key, [](const auto& entry) { return entry.first; });
  if (there != values.end())
    there->second = std::move(value);
  else
    values.emplace_back(at.key, std::move(value));
}

std::vector<Scenario> StudyConfig::scenarios() const {
  std::vector<Scenario> out = scenarios_;
  for (Scenario& scenario : out)
    std::erase_if(scenario.values, [this](const auto& entry) { return !counts(entry.first); });
  return out;
}

void StudyConfig::refuse_varying() const {
  // What says which rows of a table are read cannot vary, since settings share tables and sizes.
  const auto refuse_of_table = [this](const std::string& key, const std::string& where) {
    const std::string of = "environment." + environment_in(key);
    if (key == of + ".drift" && values_.count(of + ".table") > 0)
      refuse(where, fmt::format("{} of a table cannot vary, for settings share their tables", key));
  };
  for (const auto& [key, values] : varying_) refuse_of_table(key, values[0].where);
  for (const Scenario& scenario : scenarios_)
    for (const auto& [key, value] : scenario.values) {
      refuse_of_table(key, value.where);
      for (const auto& [varies, values] : varying_)
        if (varies == key)
          refuse(value.where, fmt::format("[vary] has {} too; keep it in the scenarios or in [vary]", key));
    }
}

}  // namespace pandora
