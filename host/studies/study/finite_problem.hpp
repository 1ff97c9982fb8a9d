// A problem with finite laws from its TOML file: what `pandora oracle exact` solves.
//
//   [[box]]                          # one for each box
//   cost = 0.1
//   values = [0.0, 0.5, 1.0]
//   probabilities = [0.2, 0.5, 0.3]
//   openings = 2                     # default 1
//   [actions]                        # default: every box that is deployed was opened
//   uninspected = true
//   outside = 0.2
#pragma once

#include <string>

#include "oracle/exact_programme.hpp"

namespace pandora {

/// Throws Error (usage) for a problem without boxes, for a box that is no law, and for one with too many states; `where`
/// begins the message.
void require_sound(const FiniteProblem& problem, const std::string& where);

/// Throws Error (usage) with file and key.
FiniteProblem read_finite_problem(const std::string& path);
/// The same for the text of such a file; `where` begins messages.
FiniteProblem finite_problem_of(const std::string& text, const std::string& where);

/// The laws and costs of the boxes of such a file as TOML, which finite_problem_of() reads back in every bit.
std::string laws_text(const FiniteProblem& problem);

}  // namespace pandora
