// The keys of a study: one list behind parsing, --set, errors, the resolved file, --print-defaults and the identity.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "host/ground/base/nearest.hpp"
#include "host/studies/study/study_config.hpp"
#include "pandora/error.hpp"

namespace pandora {

struct StudyKey {
  std::string name;
  StudyValue::Kind kind = StudyValue::Kind::text;
  std::string type, unit, meaning;
  std::string standard;  ///< the default as TOML
  std::function<void(Study&, const StudyValue&)> apply;
  /// Whether results belong to its value; or it only stands in the resolved study; or neither.
  enum class Role { identity, file, neither } role = Role::identity;
  bool varies = true, is_path = false;  ///< EnvironmentOption's
  /// Of a text whose words are parted by colons: their names, under which an inline table gives them too. A number alone
  /// is then such a text.
  std::vector<std::string> fields = {};

  bool is_list() const {
    return kind == StudyValue::Kind::texts || kind == StudyValue::Kind::integers || kind == StudyValue::Kind::numbers;
  }
};

using StudyValues = std::map<std::string, StudyValue>;

/// Throws Error (usage): where, what is wrong there, and what to do about it.
[[noreturn]] void refuse(const std::string& where, const std::string& problem);

/// All keys but those of environments; made anew when policies were registered.
const std::vector<StudyKey>& general_keys();

/// Those of [feedback] and [budget] among them.
std::vector<StudyKey> feedback_keys();
std::vector<StudyKey> budget_keys();

// Hyperparameters, in hyperparameter_keys.cpp. hyperparameters.NAME is of all policies that have it and say no value of
// their own under hyperparameters.POLICY.NAME.
inline constexpr std::string_view kHyperparameters = "hyperparameters.";

/// The keys hyperparameters.NAME.
std::vector<StudyKey> hyperparameter_keys();

/// The keys hyperparameters.POLICY.NAME of a policy; none if it is not known.
std::vector<StudyKey> hyperparameter_keys_of(const std::string& policy);

/// Of those the ones that `values` have something on, or, without values, whose default is not that of
/// hyperparameters.NAME.
std::vector<StudyKey> own_hyperparameter_keys(const StudyValues& values);

/// The POLICY of hyperparameters.POLICY.NAME; empty for other keys.
std::string policy_in(const std::string& key);

/// Throws Error (usage): there is no such policy, or it has no such hyperparameter.
[[noreturn]] void refuse_hyperparameter(const std::string& key, const std::string& where);

/// Whether the study that the values make simulates the policy.
bool simulates(const StudyValues& values, const Policy& policy);

/// The default of hyperparameters.NAME: that of the policy of the study that has it first; of any, if none has it.
StudyValue standard_hyperparameter(const std::string& name, const StudyValues& values);

/// The values, with hyperparameters.NAME at its default where nobody asks for one, and hyperparameters.POLICY.NAME of
/// every policy of the study that takes another value, or has another default, than hyperparameters.NAME. Throws Error
/// (usage) where a value is asked for that two policies would take for different things; of a foreign study, both take
/// it.
StudyValues with_own_hyperparameters(StudyValues values, bool foreign);

/// Gives them to the study. Throws Error (usage) where a policy cannot take its value.
void apply_hyperparameters(const StudyValues& values, Study& study);

/// The NAME of environment.NAME.key; empty for other keys.
std::string environment_in(const std::string& key);

/// scenario.NAME.KEY taken apart. Of another key `scenario` is absent and `key` is all of it.
struct InScenario {
  std::optional<std::string> scenario;
  std::string key;
};
InScenario in_scenario(const std::string& key);

/// Throws Error (usage) if settings cannot differ in the key.
void require_varies(const StudyKey& key, const std::string& where);

/// What `environments` can name without defining it, unless those are left out, and those that the values define.
std::vector<std::string> names_of_environments(const StudyValues& defined = {}, bool with_known = true);

/// All keys in the order of the file; environments: those that `values` have something on, or, without values, those
/// that are known.
std::vector<StudyKey> study_keys(const StudyValues& values = {});

/// Whether there is a key of that name.
bool is_key(const std::string& name);

/// The key of that name. Throws Error (usage) with the valid ones near to it, or where all are listed.
StudyKey key_named(const std::string& name, const std::string& where);

// The options of [environment.NAME], in environment_options.cpp: one list behind keys, checks, what a part of results
// belongs to, cached tables and documentation.

struct EnvironmentOption {
  std::string name;
  StudyValue::Kind kind;
  std::string type, unit, meaning;
  /// The value as TOML.
  std::function<std::string(const Environment&)> text;
  /// Throws Error (usage) if the value is none that the option can have.
  std::function<void(Environment&, const StudyValue&)> set;
  /// Of tables of outcomes alone; the others are of the paper's model alone, but for those of both.
  bool of_tables = false;
  bool of_both = false;
  /// Whether an environment that the program does not know needs it.
  bool required = false;
  /// Where a table lies: stands in the resolved study alone, and results do not belong to it.
  bool is_path = false;
  /// Whether [vary] may name it: what says which table is read cannot vary, since settings share tables and sizes.
  bool varies = true;
  std::vector<std::string> fields = {};  ///< StudyKey's

  bool is_for(const Environment& environment) const { return of_both || of_tables == (environment.trace != nullptr); }
};
const std::vector<EnvironmentOption>& environment_options();

/// The values of the options that results belong to, by their names.
std::map<std::string, std::string> options_of(const Environment& environment);

// In study_of.cpp:

/// The study that the values make; they hold every general key. Throws Error (usage) where a value is out of range or
/// contradicts another. `environments`: the names that are known or that the study defines, for error messages.
/// `foreign`: policies and environments that are not known are of another program, and no mistake.
Study study_of(const StudyValues& values, const std::vector<std::string>& environments, bool foreign);

// In study_toml.cpp, the one place that knows the TOML library:

/// The key's value from a word written as TOML; what is no TOML is a text. Throws Error (usage) if the type is another.
StudyValue value_from_word(const StudyKey& key, const std::string& word, const std::string& where);

/// Texts as TOML.
std::string toml_of(const std::string& text);
std::string toml_of(const std::vector<std::string>& texts);

// In toml_scan.cpp, before a parser sees the text: toml++ 3.3 neither survives every character nor bounds how deep
// values nest.

/// A study may have so many bytes, and its keys and values may nest so deep: every component of a dotted key, every
/// array and every table inside another counts. A dotted key may have so many bytes.
inline constexpr std::size_t kMostStudyBytes = std::size_t{1} << 20;
inline constexpr std::size_t kDeepestNesting = 32;
inline constexpr std::size_t kLongestKey = 200;

/// Lines count from 1; 0: there is none.
struct TomlScan {
  std::size_t misplaced = 0;  ///< a character that TOML does not have: beyond ASCII outside strings and comments, or a
                              ///< control character
  std::size_t too_deep = 0;   ///< where keys and values nest deeper than kDeepestNesting
};

/// Up to the first of either.
TomlScan scan_toml(const std::string& text);

/// Throws Error (usage) if the text of a study, or the value of a key, must not reach the parser. `where` names it.
void require_size(const std::string& text, const std::string& where);
[[noreturn]] void refuse_depth(const std::string& where);

// Whether a value of a study is one that its key can have:

template <class T>
void require_distinct(const StudyValue& value, const std::vector<T>& list) {
  if (list.empty()) refuse(value.where, "is empty; name at least one");
  std::set<T> seen;
  for (const T& item : list)
    if (!seen.insert(item).second) refuse(value.where, fmt::format("{} is named twice; name each once", item));
}

template <class T>
void require_range(const StudyValue& value, T found, T least, T most) {
  if (found < least) refuse(value.where, fmt::format("out of range; give an integer of at least {}", least));
  if (found > most) refuse(value.where, fmt::format("out of range; give an integer of at most {}", most));
}

/// What `parse` makes of the value's text; an Error of it is told of the value.
template <class Parse>
auto parsed(const StudyValue& value, Parse&& parse) {
  try {
    return parse(value.texts[0]);
  } catch (const Error& error) {
    refuse(value.where, error.what());
  }
}

inline int count(const StudyValue& value, int least, int most) {
  require_range<std::int64_t>(value, value.integers[0], least, most);
  return static_cast<int>(value.integers[0]);
}

inline double positive(const StudyValue& value) {
  const double x = value.numbers[0];
  if (!(x > 0.0 && std::isfinite(x))) refuse(value.where, "out of range; give a finite number above 0");
  return x;
}

inline double number_within(const StudyValue& value, double least, double most) {
  const double x = value.numbers[0];
  if (!(x >= least && x <= most))
    refuse(value.where, fmt::format("out of range; give a number from {:g} to {:g}", least, most));
  return x;
}

/// The place of the value's text number `which` among the names.
inline std::size_t choice(const StudyValue& value, const std::vector<std::string>& names, std::size_t which = 0) {
  const std::string& found = value.texts[which];
  const auto at = std::ranges::find(names, found);
  if (at == names.end())
    refuse(value.where, fmt::format("\"{}\" is unknown{}; use {}", found, nearest_text(nearest(found, names)),
                                    fmt::join(names, ", ")));
  return static_cast<std::size_t>(at - names.begin());
}

}  // namespace pandora
