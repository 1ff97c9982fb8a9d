// A cascade from a table: chosen by cross-validation, with promises that hold for prompts which it was not fitted on.
// Candidates are judged on prompts that they were not fitted on, and on prompts that not even the choice between them
// saw.
#pragma once

#include "host/cascades/fits/trained_table.hpp"
#include "host/cascades/fits/worth.hpp"

namespace pandora {

inline constexpr std::size_t kCascadeFolds = 5;
inline constexpr std::size_t kLeastPrompts = 10;  ///< different ones, two in each fold

/// What each candidate would make of some rows if they were new to it.
struct JudgedCandidates {
  PromptGroups groups;         ///< of the rows
  std::vector<Routed> routed;  ///< by candidate
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
Routed corrected(const Routed& whole, const std::vector<Routed>& by_fold, const PromptGroups& groups);

/// Throws Error (bad_data) for a table of fewer than kLeastPrompts different prompts.
/// `folds`: of the table, kCascadeFolds.
CrossValidated cross_validate(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& folds,
                              const std::vector<CascadeCandidate>& candidates, bool nested);

/// The best candidate of a kind.
struct PickedCandidate {
  std::size_t candidate = 0;
  bool met = true;     ///< whether it keeps the bound; there is none under a price
  double bound = 0.0;  ///< what dollars per prompt do not exceed, or quality does not fall below, with 95% confidence
};

struct CascadeChoice {
  std::optional<PickedCandidate> single, thresholds, indices;
  CascadeKind cascade = CascadeKind::thresholds;  ///< which of the two kinds of cascades
  bool compared = false;                          ///< whether both kinds were to be had
  Interval difference;                            ///< in worth, indices less thresholds
  double difference_error = 0.0;                  ///< its standard error
  double judged_calls = 0.0;  ///< of what a fit deploys, per prompt; 0 where that is one model alone
  Interval gain;  ///< in worth, of that kind over the single model; in a fit that deploys it that of the promise
  CascadeKind kind = CascadeKind::single;  ///< what is deployed

  const PickedCandidate& best_of(CascadeKind which) const {
    return which == CascadeKind::single ? *single : which == CascadeKind::thresholds ? *thresholds : *indices;
  }
  const PickedCandidate& chosen() const { return best_of(kind); }
};

/// What is to be large, row by row: the utility under a price, the quality under a bound on dollars, minus the dollars
/// per 1,000 prompts under a bound on the quality.
std::vector<double> worth_by_row(const Routed& routed, const CascadeAim& aim, double price);

/// Under a bound the candidates of a kind are tried in their order, from the one that keeps it most easily, until one
/// does not keep it with 95% confidence; the last one that did is picked, or the first where none did. A bound that is
/// kept is so with that confidence although several were tried: they are a fixed sequence of tests. Of the two kinds
/// of cascades thresholds are the simpler one, and win where the other is not better by its standard error. The single
/// model is chosen where the interval of the cascade's gain does not lie above 0.
CascadeChoice choose(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged,
                     const CascadeAim& aim);

/// A choice, and those that are made without each fold: what the same procedure does with other prompts.
struct NestedChoice {
  CascadeChoice choice;
  /// By fold, of what was chosen without it: all that is deployed, the kind of cascades, the single model.
  std::vector<Routed> kept, cascade, single;
};
NestedChoice choose_nested(const std::vector<CascadeCandidate>& candidates, const CrossValidated& judged,
                           const CascadeAim& aim);

/// What is deployed, by the gain where both keep the bound; else the one that does, or comes nearer to it.
void decide(CascadeChoice& choice, const CascadeAim& aim);

/// Ascending, each twice the one before: from where the dearest model's dollars hardly count to where a prompt's
/// cheapest answer costs as much as the best quality is worth. With two digits, for people read them. {1} where
/// nothing costs.
std::vector<double> price_grid(const TraceTable& table);

/// A positive number with so many digits that count.
double rounded(double x, int digits);

/// Each model alone, and cascades at prices around the one at which thresholds just keep the bound, in the order in
/// which choose() tries them: from the price that keeps it most easily.
std::vector<CascadeCandidate> candidates_by_bound(const TraceTable& table, const CascadeFitSettings& settings,
                                                  const PreparedFolds& folds);

/// The same fit under another circumstance.
struct OtherFit {
  std::string what;                     ///< "without MODEL", "price 10", "a judge at $0.0001"
  CascadeWorth worth;                   ///< gain over the best single model there
  std::optional<Interval> change = {};  ///< in worth, against the fit as it is; without a model alone
};

/// How a model is used on the table that was fitted on.
struct ModelShare {
  std::string model;
  double called = 0.0, deployed = 0.0;  ///< shares of the prompts
};

struct CascadeFit {
  CascadeFitSettings settings;
  std::string table, digest;  ///< the file and its content_digest
  std::size_t rows = 0, prompts = 0;
  std::vector<std::string> models;  ///< of the table

  double price = 0.0;    ///< the one that was asked for, or was found
  CascadeChoice choice;  ///< with a gain of choices that did not see the prompts that judge them
  CascadeWorth single;   ///< single_model on other prompts: corrected() by the choices without folds
  /// Each kind by itself, on other prompts; only those that were tried.
  std::vector<std::pair<CascadeKind, CascadeWorth>> kinds;
  CascadeWorth promise;            ///< of what is deployed, on other prompts: corrected() by whole procedures
  DollarTail tail;                 ///< of what is deployed
  std::string single_model;        ///< of all rows
  std::vector<std::string> never;  ///< models that no fit of a fold calls
  std::vector<ModelShare> shares;  ///< of the models that the cascade calls
  std::vector<OtherFit> without, elsewhere;
  /// Dollars of judging an answer, more than were counted, at which what the verdict claims is gone; 0: none is known.
  double break_even_judge = 0.0;
  std::vector<std::string> notes;  ///< of the context, a sentence each
  std::string verdict;
  std::shared_ptr<Cascade> cascade;  ///< what is deployed; its options().about is fit_record()
};

/// Of at most 16 models. Throws Error (usage) as require_sound(), Error (bad_data) for a table with too few prompts or
/// too many models, or without what the evaluator and the context name.
CascadeFit fit_cascade(const TraceTable& table, const CascadeFitSettings& settings);

/// A sentence for each column of the context from whose value alone the best model of a prompt can be told nearly
/// always: for 95% of the prompts, and with a quarter of the misses of naming one model for all, by quality or by
/// utility at the price. Which model a value stands for is counted on four fifths of the rows for the others; ties are
/// all the best.
std::vector<std::string> suspected_leaks(const TraceTable& table, const std::vector<std::string>& context,
                                         double price);

/// The kind that would have come next.
CascadeKind runner_up(const CascadeFit& fit);

/// What is kept in the cascade's file: docs/cascades.md lists the members.
nlohmann::json fit_record(const CascadeFit& fit);

/// One sentence.
std::string fit_verdict(const CascadeFit& fit, const CascadeOptions& cascade);

/// "a (accepted from 0.9), b": the models of a cascade of thresholds in order.
std::string order_text(const CascadeOptions& cascade);

}  // namespace pandora
