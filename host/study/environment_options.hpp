// The options of [environment.NAME]: one list behind keys, checks, what a part of results belongs to, cached tables and
// documentation.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/study/study_config.hpp"

namespace pandora {

struct EnvironmentOption {
  std::string name;
  StudyValue::Kind kind;
  std::string type, unit, meaning;
  /// Whether an environment that the program does not know needs it.
  bool required;
  /// The value as TOML.
  std::function<std::string(const Environment&)> text;
  /// Throws Error (usage) if the value is none that the option can have.
  std::function<void(Environment&, const StudyValue&)> set;
};
const std::vector<EnvironmentOption>& environment_options();

/// The values of all options, by their names.
std::map<std::string, std::string> options_of(const Environment& environment);

}  // namespace pandora
