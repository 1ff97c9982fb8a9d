// The keys of a study: one list behind parsing, --set, errors, the resolved file, --print-defaults and the identity.
#pragma once

#include "host/studies/study/key_list.hpp"

namespace pandora {

struct StudyKey : KeyText {
  using Apply = std::function<void(Study&, const StudyValue&)>;

  // A constructor, since GCC 12 frees members of such an aggregate twice where the memory for one of them is missing.
  StudyKey(KeyText text, std::string toml, Apply sets)
      : KeyText(std::move(text)), standard(std::move(toml)), apply(std::move(sets)) {}

  std::string standard;  ///< the default as TOML
  Apply apply;
};

using StudyValues = std::map<std::string, StudyValue>;

/// All keys but those of environments; made anew when policies were registered.
const std::vector<StudyKey>& general_keys();

/// scenario.NAME.KEY taken apart. Of another key `scenario` is absent and `key` is all of it.
struct InScenario {
  std::optional<std::string> scenario;
  std::string key;
};
InScenario in_scenario(const std::string& key);

/// Throws Error (usage) if settings cannot differ in the key.
void require_varies(const StudyKey& key, const std::string& where);

/// All keys in the order of the file; environments: those that `values` have something on, or, without values, those
/// that are known.
std::vector<StudyKey> study_keys(const StudyValues& values = {});

/// Whether there is a key of that name.
bool is_key(const std::string& name);

/// The key of that name. Throws Error (usage) with the valid ones near to it, or where all are listed.
StudyKey key_named(const std::string& name, const std::string& where);

}  // namespace pandora
