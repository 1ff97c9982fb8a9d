// Values of keys from TOML, in files and on the command line.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

/// The pieces of scenario.NAME.KEY. For other keys `scenario` is absent and `key` is the whole name.
struct InScenario {
  std::optional<std::string> scenario;
  std::string key;
};
InScenario in_scenario(const std::string& key);

/// Throws Error (usage) if the key cannot vary between settings.
void require_varies(const StudyKey& key, const std::string& where);

/// The key's value from a word written as TOML; a word that is not TOML is a text. Throws Error (usage) if it has the
/// wrong type.
StudyValue value_from_word(const StudyKey& key, const std::string& word, const std::string& where);

}  // namespace pandora
