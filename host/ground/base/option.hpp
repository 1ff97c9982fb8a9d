// Options of commands in messages. A terminal spells an option otherwise (--max-usd 4) than Python does (max_usd=4), so a
// message holds it between two marks, and whoever tells the message spells it: Error::what() as on the command line.
// The marks are U+FDD0 and U+FDD1, which Unicode keeps for a program's own use: no text of anybody's has them. They are no
// control characters, so printable() leaves them. What stands between backquotes is a command to type, whose options are
// the terminal's whoever reads it: it is not marked.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace pandora {

inline constexpr std::string_view kOptionBegins = "\xEF\xB7\x90", kOptionEnds = "\xEF\xB7\x91";  // in UTF-8

/// The option of that name, such as "max-usd".
inline std::string option(std::string_view name) {
  return std::string(kOptionBegins).append(name).append(kOptionEnds);
}

/// With a value. Of no name (""), it is a value alone that Python spells otherwise: null.
inline std::string option(std::string_view name, std::string_view value) {
  return option(std::string(name).append(" ").append(value));
}
std::string option(std::string_view name, std::integral auto value) {
  return option(name, std::to_string(value));
}

}  // namespace pandora
