// The keys of [environment.NAME]. One list serves keys, checks, the identity of parts of results, cached tables and
// documentation.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

struct EnvironmentOption : KeyOf<Environment> {
  /// Only for tables of outcomes; for both kinds. Other options are only for the paper's model.
  bool of_tables = false, of_both = false;
  bool required = false;  ///< whether an environment that the program does not know needs it

  bool is_for(const Environment& environment) const { return of_both || of_tables == (environment.trace != nullptr); }
};
const std::vector<EnvironmentOption>& environment_options();

/// The values of the options to which results belong, by their names.
std::map<std::string, std::string> options_of(const Environment& environment);

/// The options as keys of a study; study_of() collects their values.
std::vector<StudyKey> environment_keys(const std::string& name);

/// The NAME of environment.NAME.key; empty for other keys.
std::string environment_in(const std::string& key);

/// The names that `environments` may contain: known ones, unless `with_known` is false, and those that the values
/// define.
std::vector<std::string> names_of_environments(const StudyValues& defined = {}, bool with_known = true);

}  // namespace pandora
