// Decides whether to keep a rule: in each cell, is it worse than a named base by a given margin or more?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/report/compare.hpp"

namespace pandora {

struct KeepOptions {
  std::string rule, base;        ///< NAME or NAME/REWARD
  std::optional<double> margin;  ///< in regret per period x 1000, as in the tables
};

/// The rule (a) and the base (b) in the cells of `cells`, whose policies are empty. Throws Error (usage) for a name
/// that the results do not have, an invalid margin, or a cell in which one of the two does not run. Throws Error
/// (bad_data) if no cell has enough replications.
std::vector<ComparedPair> keep_pairs(StoredResults& results, const KeepOptions& options, CompareOptions cells);

enum class Verdict { keep, drop, undecided };

struct Decision {
  Verdict verdict = Verdict::undecided;
  double p = kUnknown;       ///< Holm-adjusted, for the likelier of keep and drop
  double needed = kUnknown;  ///< if undecided: how many replications would decide, if the differences stay as they are
  bool skewed = false;       ///< the differences are so skewed that a decision may be wrong more often than promised

  bool decided() const { return verdict != Verdict::undecided; }
};

/// A decision for every row of all pairs in turn. The probability that any keep or drop is wrong is at most kMostWrong.
std::vector<Decision> decide(const std::vector<ComparedPair>& pairs, double margin);
inline constexpr double kMostWrong = 0.05;

/// A table for each pair; and all rows for CSV and data frames.
std::vector<Table> keep_tables(const std::vector<ComparedPair>& pairs, double margin);
Columns keep_columns(const std::vector<ComparedPair>& pairs, double margin);

}  // namespace pandora
