// What a word that is no known name was probably meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// Candidates near to a word, nearest first and among equals in their order; empty if none is near. Case does not
/// count, and two letters that changed places are one mistake. A part of a name (from three letters on) is near to the
/// whole. Names with slashes are compared component by component: one that is wrong altogether, missing or too many,
/// leaves names of at least two near. Takes milliseconds for tens of thousands of candidates.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates,
                                 std::size_t most = 3);

/// Whether a word is a name with one mistake: a letter too many, one missing, two that changed places, or in a name of
/// at least six letters another one (shorter words with another letter are mostly other words).
bool is_misspelt(std::string_view word, std::string_view name);

/// For error messages: "; the nearest is a" or "; the nearest are a, b"; empty if none is near.
std::string nearest_text(const std::vector<std::string>& found);

}  // namespace pandora
