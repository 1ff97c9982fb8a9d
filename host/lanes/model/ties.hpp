// Boxes that share the slopes of their index parameters (model.ties): how a study writes them, and what follows.
#pragma once

#include <string>
#include <vector>

#include "kernels/rules/spec.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// Reads "1+2,3": groups of boxes, counted from 1; empty: none. Throws Error (usage).
BoxGroups parse_ties(const std::string& text);
std::string ties_text(const BoxGroups& ties);

/// What is wrong with the groups for A boxes, as the rest of a sentence; empty: nothing.
std::string fault_of_ties(const BoxGroups& ties, int A);

/// Gives a lane whose slopes are tied the group of each box. Boxes that no group names are groups of their own.
void tie_slopes(LaneSpec& spec, const BoxGroups& ties, int A);

}  // namespace pandora
