// The values of a study: which of them are used, all combinations of those that vary, and a file's text.
#include "host/studies/study/study_config.hpp"

#include <mutex>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/lists.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/study/environment_keys.hpp"
#include "host/studies/study/hyperparameter_keys.hpp"
#include "host/studies/study/study_of.hpp"
#include "host/studies/study/study_toml.hpp"
#include "host/studies/study/toml_text.hpp"

namespace pandora {
namespace {

// Appends "key = value" to a file, and before it the head of the key's table unless the previous key had the same.
void append_line(std::string& out, std::string& table, const std::string& key, const std::string& comment,
                 const std::string& value) {
  const std::size_t dot = key.rfind('.'), first = dot == std::string::npos ? 0 : dot + 1;
  if (const std::string inside = first == 0 ? "" : key.substr(0, dot); inside != table)
    out += fmt::format("\n[{}]\n", table = inside);
  out += fmt::format("{}{} = {}\n", comment, key.substr(first), value);
}

std::string list_text(const std::vector<StudyValue>& values) {
  std::vector<std::string> texts;
  for (const StudyValue& value : values) texts.push_back(value.toml());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

bool is_table(const Environment& environment) {
  return environment.trace != nullptr;
}

}  // namespace

std::string Setting::label() const {
  std::vector<std::string> parts;
  for (const auto& [key, value] : varied) parts.push_back(fmt::format("{}={}", key, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

StudyConfig::StudyConfig() {
  static std::mutex guard;
  static const std::vector<StudyKey>* of = nullptr;
  static StudyValues defaults;
  const std::lock_guard lock(guard);
  if (const std::vector<StudyKey>& keys = general_keys(); &keys != of) {
    defaults.clear();
    for (const StudyKey& key : keys) defaults[key.name] = value_from_word(key, key.standard, "default of " + key.name);
    of = &keys;
  }
  values_ = defaults;
}

void StudyConfig::assign(const std::string& key, StudyValue value) {
  if (key == "scenario") return choose_scenarios(value.texts, value.where);
  std::erase_if(varying_, [&key](const auto& entry) { return entry.first == key; });
  if (key.starts_with(kHyperparameters) && policy_in(key).empty()) {  // for all policies
    const std::string name = key.substr(kHyperparameters.size() - 1);
    std::erase_if(values_,
                  [&](const auto& entry) { return !policy_in(entry.first).empty() && entry.first.ends_with(name); });
  }
  put(key, std::move(value));
  replaced_.insert(key);
}

bool StudyConfig::simulates_environment_of(const std::string& key) const {
  const std::string name = environment_in(key);
  return name.empty() || std::ranges::count(values_.at("environments").texts, name) > 0;
}

// Keys of policies that come and go while the program runs (Policy::code) exist only in studies that name these
// policies.
bool StudyConfig::is_of_policies(const std::string& key) const {
  if (!key.starts_with(kHyperparameters)) return true;
  const std::string owner = policy_in(key), name = key.substr(key.rfind('.') + 1);
  const std::vector<std::string>& named = values_.at("policies").texts;
  bool comes_and_goes = false;
  for (const Policy& policy : all_policies()) {
    if (!owner.empty() && policy.name != owner) continue;
    for (const Hyperparameter& h : policy.hyperparameters) {
      if (h.name != name) continue;
      if (policy.code.empty() || std::ranges::count(named, policy.name) > 0) return true;
      comes_and_goes = true;
    }
  }
  return !comes_and_goes;
}

void StudyConfig::forget_defaults() {
  for (auto& [key, value] : values_)
    if (key.starts_with(kHyperparameters) && policy_in(key).empty())
      if (const StudyValue standard = standard_hyperparameter(key.substr(kHyperparameters.size()), values_);
          value.toml() == standard.toml())
        value.where = standard.where;
}

// Tables in the file count again if the list that left them out is replaced once more. A key that an option sets itself
// is always used.
bool StudyConfig::counts(const std::string& key) const {
  return is_of_policies(key) &&
         (replaced_.count("environments") == 0 || replaced_.count(key) > 0 || simulates_environment_of(key));
}

void StudyConfig::begin_scenario(const std::string& name, const std::string& where) {
  if (!is_plain_name(name))
    refuse(where, "a scenario cannot have the name \"{}\"; use at most 64 letters, digits, _ and -", name);
  if (std::ranges::count(scenarios_, name, &Scenario::name) == 0) scenarios_.push_back({name, {}});
}

void StudyConfig::require_scenario(const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios_) names.push_back(scenario.name);
  if (names.empty()) refuse(where, "the study has no scenarios; define one under [scenario.NAME], or leave it out");
  if (std::ranges::count(names, name) == 0)
    refuse(where, "the study has no scenario \"{}\"{}; use {}", name, nearest_text(nearest(name, names)),
           fmt::join(names, ", "));
}

void StudyConfig::choose_scenarios(const std::vector<std::string>& names, const std::string& where) {
  std::vector<Scenario> chosen;
  for (const std::string& name : names) {
    require_scenario(name, where);
    if (std::ranges::count(chosen, name, &Scenario::name) > 0) refuse(where, "{} is named twice; name each once", name);
    chosen.push_back(*std::ranges::find(scenarios_, name, &Scenario::name));
  }
  if (chosen.empty()) refuse(where, "names no scenario; name at least one");
  scenarios_ = std::move(chosen);
}

// Sets a value of the study itself or, for scenario.NAME.KEY, of an existing scenario.
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
  // Keys that decide which rows of a table are read cannot vary, because settings share tables and sizes.
  const auto refuse_of_table = [this](const std::string& key, const std::string& where) {
    const std::string of = "environment." + environment_in(key);
    if (key == of + ".drift" && values_.count(of + ".table") > 0)
      refuse(where, "{} of a table cannot vary, because settings share their tables", key);
  };
  for (const auto& [key, values] : varying_) refuse_of_table(key, values[0].where);
  for (const Scenario& scenario : scenarios_)
    for (const auto& [key, value] : scenario.values) {
      refuse_of_table(key, value.where);
      for (const auto& [varies, values] : varying_)
        if (varies == key) refuse(value.where, "[vary] has {} too; keep it in the scenarios or in [vary]", key);
    }
}

std::map<std::string, StudyValue> StudyConfig::values() const {
  auto out = with_own_hyperparameters(values_, foreign_);
  std::erase_if(out, [this](const auto& entry) { return !counts(entry.first); });
  return out;
}

std::vector<std::pair<std::string, std::vector<StudyValue>>> StudyConfig::varying() const {
  auto out = varying_;
  std::erase_if(out, [this](const auto& entry) { return !counts(entry.first); });
  return out;
}

std::vector<Setting> StudyConfig::settings() const {
  std::vector<Setting> out;
  const auto given = values();
  const auto varied = varying();
  const std::vector<Scenario> overrides = scenarios();
  const std::vector<std::string> environments = names_of_environments(values_);
  constexpr std::size_t kMostSettings = 10000;
  const std::size_t count = std::max<std::size_t>(overrides.size(), 1);
  std::size_t total = count;
  for (const auto& [key, values] : varied) {
    total *= values.size();
    if (total > kMostSettings)
      refuse(values[0].where, "[vary] gives more than {} settings{}; split the study", kMostSettings,
             overrides.empty() ? "" : " with [scenario]");
  }
  for (std::size_t index = 0; index < total; ++index) {
    StudyValues values = given;
    Setting setting;
    std::size_t block = total / count, rest = index % block;
    if (!overrides.empty()) {
      const Scenario& scenario = overrides[index / block];
      for (const auto& [key, value] : scenario.values) values[key] = value;
      setting.varied.emplace_back("scenario", scenario.name);
    }
    for (const auto& [key, choices] : varied) {
      block /= choices.size();
      const StudyValue& value = choices[rest / block];
      rest %= block;
      values[key] = value;
      setting.varied.emplace_back(key, value.kind == StudyValue::Kind::text ? value.texts[0] : value.toml());
    }
    setting.study = study_of(values, environments, foreign_);
    out.push_back(std::move(setting));
  }
  return out;
}

std::string StudyConfig::toml() const {
  std::string out, table;
  const auto given = values();
  const auto varied = varying();
  for (const StudyKey& key : study_keys(given)) {
    const auto value = given.find(key.name);
    if (value == given.end() || key.role == StudyKey::Role::neither) continue;  // a known environment's value
    append_line(out, table, key.name, "", value->second.toml());
  }
  if (!varied.empty()) out += "\n[vary]\n";
  for (const auto& [key, values] : varied) out += fmt::format("{} = {}\n", key, list_text(values));
  for (const Scenario& scenario : scenarios()) {
    out += fmt::format("\n[scenario.{}]\n", scenario.name);
    for (const auto& [key, value] : scenario.values) out += fmt::format("{} = {}\n", key, value.toml());
  }
  return out;
}

std::map<std::string, std::string> StudyConfig::identity() const {
  std::map<std::string, std::string> out;
  const StudyValues all = with_own_hyperparameters(values_, foreign_);
  for (const StudyKey& key : study_keys(all)) {
    const auto value = all.find(key.name);
    const std::string policy = policy_in(key.name);
    if (key.role == StudyKey::Role::identity && value != all.end() && simulates_environment_of(key.name) &&
        is_of_policies(key.name) && (policy.empty() || simulates(all, *find_policy(policy))))
      out[key.name] = value->second.toml();
  }
  for (const auto& [key, values] : varying()) out["vary." + key] = list_text(values);
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) {
    names.push_back(scenario.name);
    for (const auto& [key, value] : scenario.values)
      out[fmt::format("scenario.{}.{}", scenario.name, key)] = value.toml();
  }
  if (!names.empty()) out["scenarios"] = toml_of(names);
  return out;
}

std::string read_study_text(const std::string& path) {
  try {
    return read_file(path, kMostStudyBytes);
  } catch (const Unreadable& problem) {
    refuse(path, "{}; name a study's TOML file, such as those in experiments/", problem.what());
  }
}

StudyConfig read_study_file(const std::string& path) {
  return StudyConfig::parse(read_study_text(path), path);
}

std::string commented_defaults() {
  std::string
      out = "# Every key of a study with its default, which is the paper's study. A file needs only changed keys.\n",
      table;
  for (const StudyKey& key : study_keys())
    append_line(out, table, key.name,
                fmt::format("\n# {}\n# {}{}\n", key.meaning, key.type, key.unit.empty() ? "" : ", in " + key.unit),
                key.standard);
  out +=
      "\n# An environment of another name needs law, u and stream; two with one stream have the same draws.\n"
      "# [environment.NAME]\n"
      "\n# A table of outcomes, prompts x models, is an environment too (docs/table-studies.md has its keys):\n"
      "# [environment.NAME]\n# table = \"table.jsonl\"\n# price = 20.0\n"
      "\n# Hyperparameters are those of all policies that have them, unless a policy has values of its own:\n"
      "# [hyperparameters.dow]\n# c_rho = [0.1]\n"
      "\n# One study for each combination of values of keys that have a single value:\n"
      "# [vary]\n# periods = [1000, 10000]\n# estimation.refit = [\"geometric:1.5\", \"tracking\"]\n"
      "\n# One study for each scenario: values that replace those above. [scenario.base] is the study as it is.\n"
      "# [scenario.base]\n# [scenario.late]\n# feedback.delay = 100\n";
  return out;
}

std::vector<PlannedSetting> make_plans(const StudyConfig& config) {
  std::vector<PlannedSetting> out;
  std::size_t number = 0;
  for (const Setting& setting : config.settings()) {
    const auto add = [&](const Study& study) { out.push_back({{setting.varied, study}, make_plan(study), number}); };
    Study of_model = setting.study;
    std::erase_if(of_model.environments, is_table);
    if (!of_model.environments.empty() || setting.study.environments.empty()) add(of_model);
    for (const Environment& environment : setting.study.environments)
      if (is_table(environment)) add(study_of_table(setting.study, environment));
    ++number;
  }
  return out;
}

bool has_table(const std::vector<PlannedSetting>& settings) {
  return std::ranges::any_of(settings, [](const PlannedSetting& planned) {
    return std::ranges::any_of(planned.setting.study.environments, is_table);
  });
}

void fill_in_tables(StudyConfig& config) {
  const std::vector<Setting> settings = config.settings();
  for (const Setting& setting : settings)
    for (const Environment& environment : setting.study.environments) {
      if (!is_table(environment)) continue;
      if (laws_of(environment) != nullptr) {
        const TraceKeys& keys = *trace_keys(environment);
        config.set(fmt::format("environment.{}.laws_text", environment.name), toml_of(keys.laws_text), keys.laws);
        continue;
      }
      const auto world = TraceWorld::of(*trace_keys(environment), environment.name);
      const auto fill_in = [&](const char* key, const std::string& value) {
        config.set(fmt::format("environment.{}.{}", environment.name, key), value, trace_keys(environment)->table);
      };
      fill_in("models", toml_of(world->models()));
      fill_in("digest", world->digest());
      fill_in("sizes", fmt::format("[{}]", fmt::join(world->sizes().list(), ", ")));
    }
}

}  // namespace pandora
