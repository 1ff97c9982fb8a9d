// Texts in pieces. Streams would do it too, but keep want of memory to themselves and end early.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// What stands between the marks, empty pieces included; what follows the last mark is a piece unless it is empty.
std::vector<std::string> split(std::string_view text, char mark);

/// What stands between blanks, tabs and line ends.
std::vector<std::string> words_of(std::string_view text);

}  // namespace pandora
