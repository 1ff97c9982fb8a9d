// Options of commands in messages. A terminal spells an option differently (--max-usd 4) from Python (max_usd=4). So a
// message puts the option between two marks, and the reader's side spells it: Error::what() spells it as on the command
// line. The marks are U+FDD0 and U+FDD1, which Unicode reserves for a program's own use, so no text contains them. They
// are not control characters, so printable() keeps them. Text between backquotes is a command to type in a terminal, so
// its options are not marked.
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

/// The option with a value. Without a name (""), a value alone that Python spells differently: null.
inline std::string option(std::string_view name, std::string_view value) {
  return option(std::string(name).append(" ").append(value));
}
std::string option(std::string_view name, std::integral auto value) {
  return option(name, std::to_string(value));
}

}  // namespace pandora
