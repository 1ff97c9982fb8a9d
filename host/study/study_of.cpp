// The study that the values of its keys make, and where they contradict each other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "host/study/value_checks.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

Environment environment_of(const std::string& name, const StudyValues& values, const Study& study,
                           const StudyValue& environments) {
  const Environment* known = find_environment(name);
  const auto find = [&](const char* key) -> const StudyValue* {
    const auto at = values.find("environment." + name + "." + key);
    return at == values.end() ? nullptr : &at->second;
  };
  Environment environment = known != nullptr ? *known : Environment{};
  environment.name = name;
  const StudyValue *law = find("law"), *scale = find("scale"), *radius = find("truncation_radius"), *u = find("u"),
                   *stream = find("stream"), *slopes = find("slopes"), *link = find("reward_link"),
                   *tail = find("cost_tail");
  if (known == nullptr) {
    for (const auto& [key, value] : {std::pair{"law", law}, std::pair{"u", u}, std::pair{"stream", stream}})
      if (value == nullptr)
        refuse(environments.where,
               fmt::format("environment {} has no {}; set environment.{}.{}", name, key, name, key));
  }
  if (law != nullptr) {
    const auto chosen = static_cast<Law>(choice(*law, law->texts[0], kLaws));
    if (chosen == Law::custom && (known == nullptr || known->law != Law::custom))
      refuse(law->where, "a law of your own comes with a program that registers it; use uniform, gaussian, student_t5");
    environment.law = chosen;
  }
  if (scale != nullptr) {
    environment.shock_scale = static_cast<float>(positive(*scale));
    if (!(environment.shock_scale > 0.0f && std::isfinite(environment.shock_scale)))
      refuse(scale->where, "out of range; give a number that single precision can hold");
  }
  if (radius != nullptr) {
    if (!(radius->numbers[0] > 0.0)) refuse(radius->where, "out of range; give a number above 0, or inf");
    environment.truncation_radius = static_cast<float>(radius->numbers[0]);
  } else if (study.dimensions.output != Dimensions{}.output && std::isfinite(environment.truncation_radius)) {
    const StudyValue& output = values.at("dimensions.output");
    refuse(output.where, fmt::format("the truncation radius {} of {} belongs to 100 coordinates; set "
                                     "environment.{}.truncation_radius for {}",
                                     environment.truncation_radius, name, name, study.dimensions.output));
  }
  if (u != nullptr) {
    if (!(u->numbers[0] >= 0.0 && std::isfinite(u->numbers[0])))
      refuse(u->where, "out of range; give a finite number from 0 on");
    environment.cost_level = u->numbers[0];
  }
  if (slopes != nullptr) environment.slopes = static_cast<Slopes>(choice(*slopes, slopes->texts[0], kSlopes));
  if (environment.slopes == Slopes::unrelated &&
      std::min(study.dimensions.context, study.dimensions.output) < study.dimensions.boxes)
    refuse(slopes != nullptr ? slopes->where : environments.where,
           fmt::format("unrelated slopes need a coordinate of x and of omega per box; give dimensions.context and "
                       "dimensions.output of at least {}",
                       study.dimensions.boxes));
  if (link != nullptr) environment.reward_link = static_cast<RewardLink>(choice(*link, link->texts[0], kRewardLinks));
  if (tail != nullptr) {
    environment.cost_tail = tail->numbers[0];
    if (!(environment.cost_tail > 1.0)) refuse(tail->where, "out of range; give a number above 1, or inf");
  }
  if (stream != nullptr) {
    require_range<std::int64_t>(*stream, stream->integers[0], 0, 255);
    environment.id = static_cast<std::uint8_t>(stream->integers[0]);
  }
  return environment;
}

}  // namespace

Study study_of(const StudyValues& values, const std::vector<std::string>& known) {
  Study study;
  for (const StudyKey& key : general_keys()) key.apply(study, values.at(key.name));
  const StudyValue& environments = values.at("environments");
  const auto defines = [&values](const std::string& name) {
    return std::any_of(values.begin(), values.end(), [&](const auto& v) { return environment_in(v.first) == name; });
  };
  for (const std::string& name : environments.texts)  // first: a table that nothing names is often its right spelling
    if (find_environment(name) == nullptr && !defines(name))
      refuse(environments.where, fmt::format("\"{}\" is unknown{}; use {}, or define it under [environment.{}]", name,
                                             nearest_text(nearest(name, known)), fmt::join(known, ", "),
                                             is_plain_name(name) ? name : "NAME"));
  for (const auto& [key, value] : values) {
    const std::string name = environment_in(key);
    if (!name.empty() && find_environment(name) == nullptr &&
        std::find(environments.texts.begin(), environments.texts.end(), name) == environments.texts.end())
      refuse(value.where,
             fmt::format("environment {} is none of {} and not named by environments{}; mend the name", name,
                         fmt::join(names_of_environments(), ", "), nearest_text(nearest(name, environments.texts))));
  }
  for (const std::string& name : environments.texts)
    study.environments.push_back(environment_of(name, values, study, environments));
  if (!study.regret && !study.order)
    refuse(values.at("output.regret").where, "output.regret and output.order are both false; nothing is left to do");
  for (const Environment& environment : study.environments)
    if (study.order && find_drawer(environment.name))
      refuse(
          environments.where,
          fmt::format("Table 3 is about the paper's oracle, and environment {} has code of its own; set output.order "
                      "to false",
                      environment.name));
  return study;
}

}  // namespace pandora
