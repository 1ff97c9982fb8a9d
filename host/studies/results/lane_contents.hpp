// What a part keeps of a lane, and reading it back; any content is safe.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/studies/study/study.hpp"

namespace pandora {

/// Numbers that a part keeps of a lane's tally.
std::size_t tally_size(const Study& study);

/// Appends them.
void append_tally(const Study& study, const LaneTally& tally, std::vector<double>& out);

/// A tally from tally_size() numbers. Throws Damaged.
LaneTally tally_of(const Study& study, const double* at);

/// "sums" and "path_gaps" of a part: the names of what its tallies are made of. Throws Damaged where they are others.
void add_names_of_sums(nlohmann::json& content);
void require_own_sums(const nlohmann::json& content);

/// What a policy said of itself, as an object that is empty where it said nothing; and back. Throws Damaged.
nlohmann::json notes_json(const LaneNotes& notes);
LaneNotes notes_of(const Study& study, const nlohmann::json& in);

}  // namespace pandora
