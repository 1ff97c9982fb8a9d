// A study's text before a parser sees it: toml++ 3.3 neither survives every character nor bounds how deep values nest.
#pragma once

#include <cstddef>
#include <string>

namespace pandora {

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

}  // namespace pandora
