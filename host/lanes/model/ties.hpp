// Boxes that share the slopes of their index parameters (model.ties): how a study writes them, and how a lane gets
// them.
#pragma once

#include <string>
#include <vector>

#include "kernels/rules/spec.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// Reads groups of boxes such as "1+2,3"; the empty text has none. The text counts boxes from 1, the result from 0.
/// Throws Error (usage).
BoxGroups parse_ties(const std::string& text);
/// The inverse of parse_ties().
std::string ties_text(const BoxGroups& ties);

/// What is wrong with the groups if there are A boxes: a sentence without its subject. Empty if nothing is wrong.
std::string fault_of_ties(const BoxGroups& ties, int A);

/// Fills in LaneSpec::tie and LaneSpec::tied, the group of each box and its size. A box that no group names is a group
/// of its own.
void tie_slopes(LaneSpec& spec, const BoxGroups& ties, int A);

}  // namespace pandora
