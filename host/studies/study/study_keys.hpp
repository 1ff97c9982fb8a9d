// The keys of a study: one list serves parsing, --set, errors, the resolved file, --print-defaults and the identity.
#pragma once

#include "host/studies/study/key_list.hpp"

namespace pandora {

struct StudyKey : KeyText {
  using Apply = std::function<void(Study&, const StudyValue&)>;

  // A constructor, because GCC 12 frees members of such an aggregate twice if the memory for one of them is missing.
  StudyKey(KeyText text, std::string toml, Apply sets)
      : KeyText(std::move(text)), standard(std::move(toml)), apply(std::move(sets)) {}

  std::string standard;  ///< the default as TOML
  Apply apply;
};

using StudyValues = std::map<std::string, StudyValue>;

/// All keys except those of environments. The list is made anew after policies were registered.
const std::vector<StudyKey>& general_keys();

/// All keys in the order of the file. Of environments, those with something in `values`; without values, those that are
/// known.
std::vector<StudyKey> study_keys(const StudyValues& values = {});

/// Whether there is a key of that name.
bool is_key(const std::string& name);

/// The key of that name. Throws Error (usage) with the nearest valid ones, or with the place where all are listed.
StudyKey key_named(const std::string& name, const std::string& where);

}  // namespace pandora
