// Whether a value of a study is one that its key can have.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "host/ground/base/nearest.hpp"
#include "host/studies/study/study_keys.hpp"
#include "pandora/error.hpp"

namespace pandora {

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
