// Which known name an unknown word was probably meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// The candidates that are near to a word, nearest first, equally near ones in their given order; empty if none is
/// near. Upper and lower case are the same, and two exchanged letters are one mistake. A part of a name (from three
/// letters on) is near to the whole. Names with slashes are compared component by component: if one component is
/// altogether wrong, missing or superfluous, names of at least two components are still near. Takes milliseconds for
/// tens of thousands of candidates.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates,
                                 std::size_t most = 3);

/// Whether a word is a name with one mistake: a superfluous letter, a missing one, two exchanged ones, or, in a name of
/// at least six letters, a wrong one (shorter words with a wrong letter are mostly other words).
bool is_misspelt(std::string_view word, std::string_view name);

/// For error messages: "; the nearest is a" or "; the nearest are a, b"; empty if none is near.
std::string nearest_text(const std::vector<std::string>& found);

}  // namespace pandora
