// The options of [environment.NAME]: one list behind keys, checks, what a part of results belongs to, cached tables and
// documentation.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/studies/study/study_config.hpp"

namespace pandora {

struct EnvironmentOption {
  std::string name;
  StudyValue::Kind kind;
  std::string type, unit, meaning;
  /// The value as TOML.
  std::function<std::string(const Environment&)> text;
  /// Throws Error (usage) if the value is none that the option can have.
  std::function<void(Environment&, const StudyValue&)> set;
  /// Of tables of outcomes alone; the others, but `stream`, are of the paper's model alone.
  bool of_tables = false;
  /// Whether an environment that the program does not know needs it.
  bool required = false;
  /// Where a table lies: stands in the resolved study alone, and results do not belong to it.
  bool is_path = false;
  /// Whether [vary] may name it: what says which table is read cannot vary, since settings share tables and sizes.
  bool varies = true;

  bool is_for(const Environment& environment) const {
    return name == "stream" || of_tables == (environment.trace != nullptr);
  }
};
const std::vector<EnvironmentOption>& environment_options();

/// The values of the options that results belong to, by their names.
std::map<std::string, std::string> options_of(const Environment& environment);

}  // namespace pandora
