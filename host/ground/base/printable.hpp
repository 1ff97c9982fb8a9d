// Text from outside (arguments, studies, files, names, what a policy throws) as it may be printed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pandora {

/// One line: line ends and tabs become blanks; other control characters, those that turn the direction of writing and
/// what is not UTF-8 are escaped (\x1b, \u{202e}), so that a terminal obeys none of it. A text of more than `most`
/// bytes loses its middle, never a part of a character, and says how much.
std::string printable(std::string_view text, std::size_t most = 1000);

/// The same for a text of many lines, which keeps its line ends; lines are not cut.
std::string printable_lines(std::string_view text);

}  // namespace pandora
