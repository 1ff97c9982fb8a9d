// What results depend on: two sets of results belong together only if all of it agrees. How a study is cut into parts,
// the pieces in which results reach the disk and shards and ranks share the work, and a part as a file.
#pragma once

#include <algorithm>
#include <nlohmann/json_fwd.hpp>

#include "host/studies/study/study_config.hpp"

namespace pandora {

/// Names such as "study.replications", "build.flags", "numerics.fingerprint", and values.
using Identity = std::map<std::string, std::string>;

/// What arithmetic results were made with.
struct Numerics {
  std::string backend;      ///< "cpu" or the name of another
  std::string hardware;     ///< the kinds of its devices
  std::string fingerprint;  ///< fingerprint_of (host/studies/sweep/sweep.hpp)
};

/// study.*: every key that numbers depend on. build.*: version, digest of the sources, compiler, flags, instruction
/// set, and, where policies or environments were registered, a digest of the program, or (build.policy.NAME,
/// build.environment.NAME) the code of those of the study that have one of their own (Policy::code). numerics.*:
/// backend, devices by name, and a fingerprint of the arithmetic: a digest of what a small sweep gives on this machine.
Identity identity_of(const StudyConfig& config, const std::vector<Setting>& settings, const Numerics& numerics);

/// The build.* of this program.
Identity build_parts_of_identity();

/// The build.* of results, without the codes of policies and environments that this program knows just so.
Identity build_of_results(const Identity& identity);

/// What numbers depend on, without how many there are: replications, policies, hyperparameters, T_0, environments,
/// regimes. Results may grow by those.
Identity fixed_part(const Identity& identity);

/// One line for each name on which they differ, such as "study.replications is 2 there and 3 here"; empty if they
/// agree.
std::vector<std::string> differences(const Identity& there, const Identity& here);

/// Likewise of the fixed parts, where policies and environments that one of them has not are no difference.
std::vector<std::string> differences_of_fixed(const Identity& there, const Identity& here);

// What a manifest says of a study, and its text.

/// Every key of the study with its value, tables as objects.
nlohmann::json study_json(const StudyConfig& config);

/// A manifest as the text of its file, with its checksum.
std::string manifest_text(nlohmann::json manifest);

/// The content of a manifest.json. Throws Damaged if it is not exactly what manifest_text() gives; any text is safe.
nlohmann::json parse_manifest(const std::string& text);

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

/// The identity that a part or a manifest was written under. Throws Damaged if there is none.
Identity identity_in(const nlohmann::json& content);

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

// In lane_contents.cpp: what a part keeps of a lane, and reading it back; any content is safe.

/// Numbers that a part keeps of a lane's tally.
std::size_t tally_size(const Study& study);

/// Appends them.
void append_tally(const Study& study, const LaneTally& tally, std::vector<double>& out);

/// The sums and the gaps between paths (kPathGaps) that the tallies of a part have. A version of the program that knew
/// others may have written it: what it lacks is NaN when it is read, what this version does not know is passed over.
/// Throws Damaged.
class SumsOfPart {
 public:
  /// Of a part's content; one that does not say has the first six sums and no gaps.
  explicit SumsOfPart(const nlohmann::json& content);

  /// For a part that is written now: "sums" and "path_gaps".
  static void add_names(nlohmann::json& content);

  std::size_t size_of_tally(const Study& study) const;

  /// A tally from size_of_tally() numbers.
  LaneTally tally(const Study& study, const double* at) const;

 private:
  std::vector<int> there_;  // in kLaneSums; -1: unknown
  std::vector<int> gaps_;   // in kPathGaps likewise
};

/// What a policy said of itself, as an object that is empty where it said nothing; and back. Throws Damaged.
nlohmann::json notes_json(const LaneNotes& notes);
LaneNotes notes_of(const Study& study, const nlohmann::json& in);

}  // namespace pandora
