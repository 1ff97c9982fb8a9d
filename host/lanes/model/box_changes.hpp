// Boxes that come and go: how a study writes it, and which are there in every row of a tape.
#pragma once

#include <string>
#include <vector>

#include "pandora/replication.hpp"

namespace pandora {

/// "box 3:1000,box 1:2000", whose boxes are counted from 1, and BoxChange::box from 0; empty: none. Throws Error (usage).
/// Of "2:1000", which earlier versions took and counted from 0, it says how to write the same now.
std::vector<BoxChange> parse_box_changes(const std::string& text);
std::string box_changes_text(const std::vector<BoxChange>& changes);

/// Throws Error (usage) if a box is none of `boxes`, comes or goes twice in a row, or if in some period none is there.
void require_box_changes(const Environment& environment, int boxes);

/// Tape::there_by_row of a replication, and indices that are hindsight's again, of the boxes that are there.
void apply_box_changes(const Environment& environment, bool hindsight, Replication& replication);

}  // namespace pandora
