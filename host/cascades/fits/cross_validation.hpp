// Candidates judged on prompts that they were not fitted on, and on prompts that not even the choice between them saw.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "host/cascades/fits/trained_table.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/outcomes/tables/prompt_groups.hpp"

namespace pandora {

inline constexpr std::size_t kCascadeFolds = 5;
inline constexpr std::size_t kLeastPrompts = 10;  ///< different ones, two in each fold

/// What each candidate would make of some rows if they were new to it.
struct JudgedCandidates {
  PromptGroups groups;             ///< of the rows
  std::vector<WorthByRow> routed;  ///< by candidate
  /// Intervals are taken to be narrower by this: a choice without a fold is to be made as one of the whole table is.
  double narrower = 1.0;

  /// As wide as that of a cross-fitted policy.
  Interval fitted(const Interval& over_prompts) const;
};

struct CrossValidated {
  JudgedCandidates all;  ///< every row of the table, by the fits on all rows: corrected()
  /// For fold f: the rows outside f, each fitted on what is neither in f nor in the row's own fold. A choice that is
  /// made by this has not seen fold f. Empty unless nested.
  std::vector<JudgedCandidates> without;
  /// By candidate, fitted on all rows, and by fold and candidate, fitted without it: every row as it was.
  std::vector<Routed> whole;
  std::vector<std::vector<Routed>> by_fold;
  std::vector<FixedCascade> whole_orders;         ///< by candidate; empty orders for indices
  std::vector<std::vector<FixedCascade>> orders;  ///< by fold and candidate
};

/// What the policy `whole`, fitted on all rows, would do on other prompts. What it did on these flatters it: by as much
/// as fits without a fold, `by_fold`, do better on all rows than in their fold (Burman 1989, corrected
/// cross-validation). The mean of the folds' fits alone would be of other policies than the one that is handed out.
WorthByRow corrected(const Routed& whole, const std::vector<WorthByRow>& by_fold, const PromptGroups& groups);

class CrossValidation {
 public:
  /// All must outlive this. Throws Error (bad_data) for a table of fewer than kLeastPrompts different prompts.
  CrossValidation(const TraceTable& table, const CascadeFitSettings& settings);

  const PromptGroups& groups() const { return groups_; }
  std::vector<std::size_t> rows_outside(std::size_t fold) const {
    return fold_of(groups_, fold, kCascadeFolds).training;
  }

  CrossValidated run(const std::vector<CascadeCandidate>& candidates, bool nested) const;

 private:
  struct Task;
  void judge(const std::vector<CascadeCandidate>& candidates, Task& task) const;

  const TraceTable& table_;
  const CascadeFitSettings& settings_;
  PromptGroups groups_;
};

}  // namespace pandora
