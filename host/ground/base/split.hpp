// Texts in pieces, and as numbers. Streams would do it too, but keep want of memory to themselves and end early.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// What stands between the marks, empty pieces included; what follows the last mark is a piece unless it is empty.
std::vector<std::string> split(std::string_view text, char mark);

/// What stands between blanks, tabs and line ends.
std::vector<std::string> words_of(std::string_view text);

/// The number that a text is, all of it. std::stod and the like would read 9.31 as 9 where a program around this one
/// has asked for a locale with a decimal comma.
std::optional<double> number_of(std::string_view text);

}  // namespace pandora
