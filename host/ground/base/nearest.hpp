// What a word that is no known name was probably meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pandora {

/// Candidates near to a word, nearest first and among equals in their order; empty if none is near. Case does not
/// count, and two letters that changed places are one mistake. A part of a name (from three letters on) is near to the
/// whole. Names with slashes are compared component by component: one that is wrong altogether, missing or too many,
/// leaves names of at least two near. Takes milliseconds for tens of thousands of candidates.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates,
                                 std::size_t most = 3);

/// For error messages: "; the nearest is a" or "; the nearest are a, b"; empty if none is near.
std::string nearest_text(const std::vector<std::string>& found);

}  // namespace pandora
