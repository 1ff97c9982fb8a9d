// The data of a lane in a part, written and read back. Any content is safe to read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/studies/study/study.hpp"

namespace pandora {

/// How many numbers of a lane's tally a part keeps.
std::size_t tally_size(const Study& study);

/// Appends them.
void append_tally(const Study& study, const LaneTally& tally, std::vector<double>& out);

/// A tally from tally_size() numbers. Throws Damaged.
LaneTally tally_of(const Study& study, const double* at);

/// "sums" and "path_gaps" of a part: the names of the sums in its tallies. Throws Damaged if they differ from this
/// program's.
void add_names_of_sums(nlohmann::json& content);
void require_own_sums(const nlohmann::json& content);

/// The notes of a policy as an object, which is empty if there are none; and back. Throws Damaged.
nlohmann::json notes_json(const LaneNotes& notes);
LaneNotes notes_of(const Study& study, const nlohmann::json& in);

}  // namespace pandora
