// Describes the keys of a study: the type of a value, its bounds, and where it is stored.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/studies/study/study_config.hpp"
#include "pandora/error.hpp"

namespace pandora {

/// The description of a key.
struct KeyText {
  std::string name;
  StudyValue::Kind kind = StudyValue::Kind::text;
  std::string type, unit, meaning;
  /// For a text whose words are separated by colons: the names of the words, under which an inline table may give them
  /// too. A single number is then such a text.
  std::vector<std::string> fields = {};
  /// Whether results depend on its value, or it only stands in the resolved study, or neither.
  enum class Role { identity, file, neither } role = Role::identity;
  bool varies = true;    ///< whether [vary] may name it; keys that say which table is read may not vary
  bool is_path = false;  ///< whether it is the path of a table

  bool is_list() const {
    using Kind = StudyValue::Kind;
    return kind == Kind::texts || kind == Kind::integers || kind == Kind::numbers;
  }
};

/// A key of a study, or of a part of a study.
template <class Holder>
struct KeyOf : KeyText {
  /// The value as TOML.
  std::function<std::string(const Holder&)> text;
  /// Throws Error (usage) if the key cannot have this value.
  std::function<void(Holder&, const StudyValue&)> set;
};

/// Throws Error (usage) with the place, the problem and the remedy.
[[noreturn]] inline void refuse(const std::string& where, const std::string& problem) {
  const std::string what = fmt::format("{}: {}", where, problem);
  throw Error(ExitCode::usage, printable(what, what.size()));  // U+0000 in a key would end what()
}
template <class First, class... More>
[[noreturn]] void refuse(const std::string& where, fmt::format_string<First, More...> problem, First&& first,
                         More&&... more) {
  refuse(where, fmt::format(problem, std::forward<First>(first), std::forward<More>(more)...));
}

/// The text as TOML.
std::string toml_of(const std::string& text);
std::string toml_of(const std::vector<std::string>& texts);

template <class T>
void require_distinct(const StudyValue& value, const std::vector<T>& list) {
  if (list.empty()) refuse(value.where, "is empty; name at least one");
  for (auto item = list.begin(); item != list.end(); ++item)
    if (std::find(list.begin(), item, *item) != item) refuse(value.where, "{} is named twice; name each once", *item);
}

inline int require_range(const StudyValue& value, std::int64_t found, int least, int most) {
  if (found < least) refuse(value.where, "out of range; give an integer of at least {}", least);
  if (found > most) refuse(value.where, "out of range; give an integer of at most {}", most);
  return static_cast<int>(found);
}

/// Returns the result of `parse` for the value's text; an Error then also names the value.
template <class Parse>
auto parsed(const StudyValue& value, Parse&& parse) {
  try {
    return parse(value.texts[0]);
  } catch (const Error& error) {
    refuse(value.where, error.marked());
  }
}

/// The position among the names of the value's text number `which`.
inline std::size_t choice(const StudyValue& value, const std::vector<std::string>& names, std::size_t which = 0) {
  const std::string& found = value.texts[which];
  const auto at = std::ranges::find(names, found);
  if (at == names.end())
    refuse(value.where, "\"{}\" is unknown{}; use {}", found, nearest_text(nearest(found, names)),
           fmt::join(names, ", "));
  return static_cast<std::size_t>(at - names.begin());
}

/// The numbers that a key accepts.
struct NumberRange {
  std::string type;  ///< such as "number from 0 to 1"
  std::function<bool(double)> has;
  std::string wanted = "a " + type;
};
inline NumberRange from_to(double least, double most) {
  return {fmt::format("number from {:g} to {:g}", least, most), [=](double x) { return x >= least && x <= most; }};
}
inline const NumberRange kPositive = {"number above 0", [](double x) { return x > 0.0 && std::isfinite(x); },
                                      "a finite number above 0"};
inline const NumberRange kBetween0And1 = {"number between 0 and 1", [](double x) { return x > 0.0 && x < 1.0; }};
/// The range with 0, which means that nothing is set, in addition.
inline NumberRange zero_or(const NumberRange& range, const std::string& type) {
  return {type, [has = range.has](double x) { return x == 0.0 || has(x); }, range.wanted};
}

inline constexpr int kAnyInteger = std::numeric_limits<int>::max();

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// A member of a member, for std::invoke.
template <class Outer, class Inner>
auto path(Outer outer, Inner inner) {
  return [=](auto& holder) -> auto& {
    return std::invoke(inner, std::invoke(outer, holder));
  };
}

/// Keys whose values are in a Holder. `at` is a member of it, or finds one by std::invoke; the default is the value in
/// a new Holder. For an optional member, the first word, the least integer or 0 leaves it empty.
template <class Holder>
class KeyList {
 public:
  using Kind = StudyValue::Kind;
  std::vector<KeyOf<Holder>> keys;

  KeyOf<Holder>& add(KeyText told, std::function<std::string(const Holder&)> text,
                     std::function<void(Holder&, const StudyValue&)> set) {
    return keys.emplace_back(KeyOf<Holder>{std::move(told), std::move(text), std::move(set)});
  }

  /// With an explicit default.
  KeyOf<Holder>& add(KeyText told, const std::string& standard, std::function<void(Holder&, const StudyValue&)> set) {
    return add(
        std::move(told), [standard](const Holder&) { return standard; }, std::move(set));
  }

  template <class At>
  KeyOf<Holder>& integer(const char* name, const char* unit, const char* meaning, int least, int most, At at) {
    return add(
        {name, Kind::integer,
         most == kAnyInteger ? fmt::format("integer, at least {}", least)
                             : fmt::format("integer from {} to {}", least, most),
         unit, meaning},
        [=](const Holder& h) { return fmt::format("{}", said(std::invoke(at, h)).value_or(least)); },
        [=](Holder& h, const StudyValue& v) {
          const int n = require_range(v, v.integers[0], least, most);
          say(std::invoke(at, h), n != least, n);
        });
  }

  template <class At>
  KeyOf<Holder>& number(const char* name, const char* unit, const char* meaning, const NumberRange& range, At at) {
    return add(
        {name, Kind::number, range.type, unit, meaning},
        [=](const Holder& h) { return fmt::format("{}", said(std::invoke(at, h)).value_or(0)); },
        [=](Holder& h, const StudyValue& v) {
          auto& member = std::invoke(at, h);
          say(member, v.numbers[0] != 0.0, v.numbers[0]);
          if (!range.has(said(member).value_or(0))) refuse(v.where, "out of range; give " + range.wanted);
        });
  }

  /// One of several words, in the order of the enumeration.
  template <class At>
  KeyOf<Holder>& word(const char* name, const char* meaning, const std::vector<std::string>& words, At at) {
    constexpr std::size_t kFirst = kIsOptional<std::decay_t<std::invoke_result_t<At, Holder&>>>;
    const std::vector<std::string> but_last(words.begin(), words.end() - 1);
    return add(
        {name, Kind::text, fmt::format("{} or {}", fmt::join(but_last, ", "), words.back()), "", meaning},
        [=](const Holder& h) {
          const auto value = said(std::invoke(at, h));
          return toml_of(words[value ? static_cast<std::size_t>(*value) + kFirst : 0]);
        },
        [=](Holder& h, const StudyValue& v) {
          const std::size_t chosen = choice(v, words);
          say(std::invoke(at, h), chosen > 0, chosen - kFirst);
        });
  }

  template <class At>
  KeyOf<Holder>& flag(const char* name, const char* meaning, At at) {
    return add(
        {name, Kind::boolean, "true or false", "", meaning},
        [=](const Holder& h) { return std::invoke(at, h) ? "true" : "false"; },
        [=](Holder& h, const StudyValue& v) { std::invoke(at, h) = v.boolean; });
  }

  /// A text of named words, which `read` parses; it throws Error.
  template <class Text, class Read>
  KeyOf<Holder>& words(const char* name, const char* type, const char* unit, const char* meaning,
                       const std::vector<std::string>& fields, Text text, Read read) {
    return add(
        {name, Kind::text, type, unit, meaning, fields}, [=](const Holder& h) { return toml_of(text(h)); },
        [=](Holder& h, const StudyValue& v) {
          parsed(v, [&](const std::string& words) { return read(h, words), true; });
        });
  }

 private:
  template <class T>
  static auto said(const T& member) {
    if constexpr (kIsOptional<T>)
      return member;
    else
      return std::optional<T>(member);
  }
  template <class T, class Value>
  static void say(T& member, bool something, Value value) {
    if constexpr (!kIsOptional<T>)
      member = static_cast<T>(value);
    else if (something)
      member = static_cast<typename T::value_type>(value);
    else
      member.reset();
  }
};

}  // namespace pandora
