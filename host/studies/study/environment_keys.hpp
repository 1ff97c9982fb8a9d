// The keys of [environment.NAME]: one list behind keys, checks, what a part of results belongs to, cached tables and
// documentation.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

struct EnvironmentOption : KeyOf<Environment> {
  /// Of tables of outcomes alone; the others are of the paper's model alone, but for those of both.
  bool of_tables = false, of_both = false;
  bool required = false;  ///< whether an environment that the program does not know needs it

  bool is_for(const Environment& environment) const { return of_both || of_tables == (environment.trace != nullptr); }
};
const std::vector<EnvironmentOption>& environment_options();

/// The values of the options that results belong to, by their names.
std::map<std::string, std::string> options_of(const Environment& environment);

/// As keys of a study, whose values study_of() puts together.
std::vector<StudyKey> environment_keys(const std::string& name);

/// The NAME of environment.NAME.key; empty for other keys.
std::string environment_in(const std::string& key);

/// What `environments` can name without defining it, unless those are left out, and those that the values define.
std::vector<std::string> names_of_environments(const StudyValues& defined = {}, bool with_known = true);

}  // namespace pandora
