// Whether to keep a rule: in each cell, is it worse than a named base by a margin or more, which was said beforehand?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/report/compare.hpp"

namespace pandora {

struct KeepOptions {
  std::string rule, base;        ///< NAME or NAME/REWARD
  std::optional<double> margin;  ///< of regret per period x 1000, as in the tables
};

/// The rule (a) and the base (b) in the cells of `cells`, whose policies are empty. Throws Error (usage) for a name that
/// the results have not, a margin that is none, or a cell in which one of both does not run; Error (bad_data) where no
/// cell has enough replications.
std::vector<ComparedPair> keep_pairs(StoredResults& results, const KeepOptions& options, CompareOptions cells);

enum class Verdict { keep, drop, undecided };

struct Decision {
  Verdict verdict = Verdict::undecided;
  double p = kUnknown;       ///< Holm-adjusted, of the likelier of keep and drop
  double needed = kUnknown;  ///< where undecided: replications that would decide, if all stays as it is
  bool skewed = false;       ///< the differences, so much that a decision may be wrong more often than promised

  bool decided() const { return verdict != Verdict::undecided; }
};

/// For every row of all pairs in turn. The probability that even one keep or drop is wrong is at most kMostWrong.
std::vector<Decision> decide(const std::vector<ComparedPair>& pairs, double margin);
inline constexpr double kMostWrong = 0.05;

/// A table for each pair; all rows for CSV and data frames.
std::vector<Table> keep_tables(const std::vector<ComparedPair>& pairs, double margin);
Columns keep_columns(const std::vector<ComparedPair>& pairs, double margin);

}  // namespace pandora
