// Splits text and reads numbers from it. (Streams would do this too, but they hide a lack of memory and stop early.)
// Also makes text from outside (arguments, studies, files, names, exceptions of policies) safe to print.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// One line that a terminal shows as text only: line ends and tabs become blanks; other control characters, those that
/// change the writing direction, and bytes that are not UTF-8 are escaped (\x1b, \u{202e}). A text of more than `most`
/// bytes loses its middle, at whole characters, and says how much.
std::string printable(std::string_view text, std::size_t most = 1000);

/// The same for a text of many lines: it keeps its line ends, and lines are not cut.
std::string printable_lines(std::string_view text);

/// The pieces between the marks, with empty ones. The piece after the last mark is left out if it is empty.
std::vector<std::string> split(std::string_view text, char mark);

/// The words between blanks, tabs and line ends.
std::vector<std::string> words_of(std::string_view text);

/// The number that the whole text is; nothing if it is none. std::stod would read 9.31 as 9 if the surrounding program
/// has set a locale with a decimal comma.
std::optional<double> number_of(std::string_view text);
/// A number from `least` to `most`.
std::optional<double> number_within(std::string_view text, double least, double most);
/// A whole number from `least` to `most`.
std::optional<int> whole_within(std::string_view text, int least, int most);

}  // namespace pandora
