// The keys of a study: one list behind parsing, --set, errors, the resolved file, --print-defaults and the identity.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/studies/study/study_config.hpp"

namespace pandora {

struct StudyKey {
  std::string name;
  StudyValue::Kind kind = StudyValue::Kind::text;
  std::string type, unit, meaning;
  std::string standard;  ///< the default as TOML
  std::function<void(Study&, const StudyValue&)> apply;
  /// Whether results belong to its value; or it only stands in the resolved study; or neither.
  enum class Role { identity, file, neither } role = Role::identity;

  bool is_list() const {
    return kind == StudyValue::Kind::texts || kind == StudyValue::Kind::integers || kind == StudyValue::Kind::numbers;
  }
};

using StudyValues = std::map<std::string, StudyValue>;

/// Throws Error (usage): where, what is wrong there, and what to do about it.
[[noreturn]] void refuse(const std::string& where, const std::string& problem);

/// All keys but those of environments; made anew when policies were registered.
const std::vector<StudyKey>& general_keys();

/// The NAME of environment.NAME.key; empty for other keys.
std::string environment_in(const std::string& key);

/// What `environments` can name without defining it.
std::vector<std::string> names_of_environments();

/// All keys in the order of the file; environments: those that `values` have something on, or, without values, those
/// that are known.
std::vector<StudyKey> all_keys(const StudyValues& values);

/// Whether there is a key of that name.
bool is_key(const std::string& name);

/// The key of that name. Throws Error (usage) with the valid ones near to it, or where all are listed.
StudyKey key_named(const std::string& name, const std::string& where);

// In ridge_keys.cpp:

/// The keys of what holds the estimates of rho_a and theta_* back: ridges and balls.
std::vector<StudyKey> ridge_keys();

// In study_of.cpp:

/// The study that the values make; they hold every general key. Throws Error (usage) where a value is out of range or
/// contradicts another. `environments`: the names that are known or that the study defines, for error messages.
/// `foreign`: policies and environments that are not known are of another program, and no mistake.
Study study_of(const StudyValues& values, const std::vector<std::string>& environments, bool foreign);

// In study_toml.cpp, the one place that knows the TOML library:

/// The key's value from a word written as TOML; what is no TOML is a text. Throws Error (usage) if the type is another.
StudyValue value_from_word(const StudyKey& key, const std::string& word, const std::string& where);

}  // namespace pandora
