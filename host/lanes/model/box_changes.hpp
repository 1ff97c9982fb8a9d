// Boxes that come and go: how a study writes the changes, and which boxes are there in every row of a tape.
#pragma once

#include <string>
#include <vector>

#include "pandora/replication.hpp"

namespace pandora {

/// Reads "box 3:1000,box 1:2000". Boxes are counted from 1 here, and from 0 in BoxChange::box; empty: no changes.
/// Throws Error (usage). For "2:1000", which earlier versions took and counted from 0, the message says how to write it
/// now.
std::vector<BoxChange> parse_box_changes(const std::string& text);
std::string box_changes_text(const std::vector<BoxChange>& changes);

/// Throws Error (usage) if a box is not among `boxes`, comes or goes twice in a row, or if no box is there in some
/// period.
void require_box_changes(const Environment& environment, int boxes);

/// Sets Tape::there_by_row of a replication. If the indices are hindsight's, computes them again for the boxes that are
/// there.
void apply_box_changes(const Environment& environment, bool hindsight, Replication& replication);

}  // namespace pandora
