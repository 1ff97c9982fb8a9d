// How a study is divided into parts, and a part as a file. Parts are the units in which results are written to disk and
// in which shards and ranks share the work.
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

/// All parts in order. The first 50 replications of a group are one part each, the next 50 parts have two each, the
/// next 50 four, and so on. So an interruption costs little, folders stay small, and a part's place does not depend on
/// R, so that results can grow. Parts do not depend on how many machines run the study.
std::vector<Part> make_parts(const std::vector<PlannedSetting>& settings);

/// An upper bound on the bytes of the part's file. It also covers the file of a larger study, which is then refused
/// with a better reason.
std::uint64_t most_part_bytes(const PlannedSetting& planned, const Part& part);

/// The content of a part's file; `results` are complete and belong to its units. Of the rest of the study it contains
/// only the settings on which numbers depend, so that a part is the same however the study grew.
nlohmann::json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                            const std::vector<UnitResult>& results);

/// The data in a part that may have been written for a smaller study.
struct PartContents {
  std::vector<UnitResult> units;  ///< the part's first units, perhaps not all; missing lanes have not ran()
  std::vector<bool> lanes;        ///< for each lane of the plan: whether the part has it
  std::size_t wanted = 0;         ///< how many units the part should have

  bool all_lanes() const { return std::ranges::count(lanes, false) == 0; }
  bool whole() const { return units.size() == wanted && all_lanes(); }
};

/// Reads back the arguments of part_content. Any content is safe; throws Damaged if it is not that part of that study.
/// Throws Error (mismatch) if the part has lanes or replications that the study does not have, unless they are to be
/// passed over.
PartContents part_contents(const PlannedSetting& planned, const Part& part, const nlohmann::json& content,
                           bool passes_over_others = false);

/// The names of the lanes in a part. Throws Damaged.
std::vector<std::string> lanes_in(const nlohmann::json& content);

/// Copies to `into` the lanes that only `from` has; both must have the same units.
void add_lanes(const std::vector<UnitResult>& from, std::vector<UnitResult>& into);

}  // namespace pandora
