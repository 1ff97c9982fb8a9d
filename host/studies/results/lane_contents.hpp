// What a part of the results keeps of a lane, and reading it back; any content is safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "host/studies/study/study.hpp"

namespace pandora {

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
