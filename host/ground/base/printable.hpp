// Text in pieces, and as numbers (streams would do it too, but keep want of memory to themselves and end early). Text
// from outside (arguments, studies, files, names, what a policy throws) as it may be printed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// One line: line ends and tabs become blanks; other control characters, those that turn the direction of writing and
/// what is not UTF-8 are escaped (\x1b, \u{202e}), so that a terminal obeys none of it. A text of more than `most`
/// bytes loses its middle, never a part of a character, and says how much.
std::string printable(std::string_view text, std::size_t most = 1000);

/// The same for a text of many lines, which keeps its line ends; lines are not cut.
std::string printable_lines(std::string_view text);

/// What stands between the marks, empty pieces included; what follows the last mark is a piece unless it is empty.
std::vector<std::string> split(std::string_view text, char mark);

/// What stands between blanks, tabs and line ends.
std::vector<std::string> words_of(std::string_view text);

/// The number that a text is, all of it. std::stod and the like would read 9.31 as 9 where a program around this one
/// has asked for a locale with a decimal comma.
std::optional<double> number_of(std::string_view text);
/// One from `least` to `most`.
std::optional<double> number_within(std::string_view text, double least, double most);
/// A whole one.
std::optional<int> whole_within(std::string_view text, int least, int most);

}  // namespace pandora
