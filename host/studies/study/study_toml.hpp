// Values of keys from TOML, in files and on the command line.
#pragma once

#include "host/studies/study/study_keys.hpp"

namespace pandora {

/// The key's value from a word written as TOML; what is no TOML is a text. Throws Error (usage) if the type is another.
StudyValue value_from_word(const StudyKey& key, const std::string& word, const std::string& where);

}  // namespace pandora
