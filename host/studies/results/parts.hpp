// How a study is cut into parts, the pieces in which results reach the disk and shards and ranks share the work, and a
// part as a file.
#pragma once

#include <algorithm>

#include "host/studies/results/identity.hpp"

namespace pandora {

/// Some replications of one (setting, environment, regime): units [first, last) of the setting's plan.
struct Part {
  std::size_t setting = 0;
  std::size_t first = 0, last = 0;
  std::string name;  ///< of its file, such as "000-uniform-A-00010.part"
};

/// All parts in order. The first 50 replications of a group are a part each, the next 50 parts have two each, the next
/// 50 four, and so on: an interruption costs little, folders stay small, and a part's place does not depend on R, so
/// that results can grow. How many machines run the study does not matter.
std::vector<Part> make_parts(const std::vector<PlannedSetting>& settings);

/// More bytes than any file of the part has, also one of a larger study that is refused with a better reason.
std::uint64_t most_part_bytes(const PlannedSetting& planned, const Part& part);

/// The content of a part's file; `results` are its units', whole. It says nothing of the rest of the study but what
/// numbers depend on, so that a part is the same however the study grew.
nlohmann::json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                            const std::vector<UnitResult>& results);

/// What a part that was written for a smaller study may have of a part.
struct PartContents {
  std::vector<UnitResult> units;  ///< the first of the part's, perhaps not all; lanes that are not there have not ran()
  std::vector<bool> lanes;        ///< of the plan: whether the part has them
  std::size_t wanted = 0;         ///< units of the part

  bool all_lanes() const { return std::ranges::count(lanes, false) == 0; }
  bool whole() const { return units.size() == wanted && all_lanes(); }
};

/// What part_content was given. Throws Damaged if the content is not that part of that study; any content is safe.
/// Throws Error (mismatch) if the part has lanes or replications that the study has not, unless they are to be passed
/// over.
PartContents part_contents(const PlannedSetting& planned, const Part& part, const nlohmann::json& content,
                           bool passes_over_others = false);

/// The names of the lanes that a part has. Throws Damaged.
std::vector<std::string> lanes_in(const nlohmann::json& content);

/// Sets in `into` what `from` has and it has not; both of the same units.
void add_lanes(const std::vector<UnitResult>& from, std::vector<UnitResult>& into);

}  // namespace pandora
