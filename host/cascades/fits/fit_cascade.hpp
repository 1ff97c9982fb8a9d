// A cascade from a table: chosen by cross-validation, with promises that hold for prompts which it was not fitted on.
// Candidates are judged on prompts that they were not fitted on, and on prompts that not even the choice between them
// saw.
#pragma once

#include <array>

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
  /// By candidate, under a bound on it: its 95th per cent, of fits without the row or, if that is more, of the whole fit.
  std::vector<double> latency = {};

  /// As wide as that of a cross-fitted policy.
  Interval fitted(const Interval& over_prompts) const;
};

struct CrossValidated {
  JudgedCandidates all;  ///< every row of the table: on_other_prompts()
  /// For fold f: the rows outside f, each fitted on what is neither in f nor in the row's own fold. A choice that is
  /// made by this has not seen fold f. Empty unless nested.
  std::vector<JudgedCandidates> without;
  /// By candidate, fitted on all rows, and by fold and candidate, fitted without it: every row as it was.
  std::vector<Routed> whole;
  std::vector<std::vector<Routed>> by_fold;
  std::vector<FixedCascade> whole_orders;         ///< by candidate; empty but for a single model and thresholds
  std::vector<std::vector<FixedCascade>> orders;  ///< by fold and candidate
};

/// What the policy `whole`, fitted on all rows, would do on other prompts. What it did on these flatters it: by as much
/// as fits without a fold, `by_fold`, do better on all rows than in their fold (Burman 1989, corrected
/// cross-validation). The mean of the folds' fits alone would be of other policies than the one that is handed out.
Routed corrected(const Routed& whole, const std::vector<Routed>& by_fold, const PromptGroups& groups);

/// The same where `out_of_fold` is false, else what the folds' fits do in their folds (CascadeFitSettings::out_of_fold).
Routed on_other_prompts(const Routed& whole, const std::vector<Routed>& by_fold, const PromptGroups& groups,
                        bool out_of_fold);

/// Throws Error (bad_data) for a table of fewer than kLeastPrompts different prompts.
/// `folds`: of the table, kCascadeFolds.
CrossValidated cross_validate(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& folds,
                              const std::vector<CascadeCandidate>& candidates, bool nested);

/// The best candidate of a kind.
struct PickedCandidate {
  std::size_t candidate = 0;
  bool met = true;      ///< whether it keeps the bound; there is none under a price
  bool in_time = true;  ///< whether it keeps the bound on latency; what does not is deployed in no case
  std::pair<bool, bool> keeps() const { return {in_time, met}; }
  double bound = 0.0;  ///< what dollars per prompt do not exceed, or quality does not fall below, with 95% confidence
};

struct CascadeChoice {
  std::array<std::optional<PickedCandidate>, std::size(kCascadeKinds)> picked;  ///< by kind, of those that were tried
  CascadeKind cascade = CascadeKind::thresholds;  ///< which of the kinds but the single model
  /// The kind that it was held against: the one worth most or, where that was chosen, the next; none where one kind
  /// was tried. `difference`: in worth, the later one of the two less the earlier one.
  std::optional<CascadeKind> rival;
  Interval difference;
  double difference_error = 0.0;  ///< its standard error
  double judged_calls = 0.0;      ///< of what a fit deploys, per prompt
  Interval gain;      ///< in worth, of that kind over the single model; in a fit that deploys it that of the promise
  bool pays = false;  ///< whether that kind keeps the bound, or the better, and its gain is sure
  CascadeKind kind = CascadeKind::single;  ///< what is deployed

  const PickedCandidate& best_of(CascadeKind which) const { return *picked[static_cast<std::size_t>(which)]; }
  const PickedCandidate& single() const { return best_of(CascadeKind::single); }
  const PickedCandidate& chosen() const { return best_of(kind); }
};

/// What is to be large, row by row: the utility under a price, the quality under a bound on dollars, minus the dollars
/// per 1,000 prompts under a bound on the quality.
std::vector<double> worth_by_row(const Routed& routed, const CascadeAim& aim, double price);

/// Under a bound the candidates of a kind are tried in their order, from the one that keeps it most easily, until one
/// does not keep it with 95% confidence; the last one that did is picked, or the first where none did. A bound that is
/// kept is so with that confidence although several were tried: they are a fixed sequence of tests. Those that exceed a
/// bound on latency are passed over; where all do, the first is picked. At a price the best one that keeps that bound is
/// picked. Of the kinds the best one is taken, or the best of those that are simpler where it does not lead by more than
/// its standard error. The single model is chosen where the interval of the cascade's gain does not lie above 0.
CascadeChoice choose(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged,
                     const CascadeAim& aim);

/// A choice, and those that are made without each fold: what the same procedure does with other prompts.
struct NestedChoice {
  CascadeChoice choice;
  /// By fold, of what was chosen without it: what is deployed, the best of the kind `choice.cascade`, the single model.
  /// Deployed is that kind, or where it does not pay without the fold the single model; but always that kind where it was
  /// asked for by name, as the whole fit deploys it, and where it is read out of fold, since a single model in some folds
  /// would say nothing of it.
  std::vector<Routed> kept, cascade, single;
};
NestedChoice choose_nested(const std::vector<CascadeCandidate>& candidates, const CrossValidated& judged,
                           const CascadeFitSettings& settings);

/// All but the single model.
std::vector<CascadeKind> kinds_tried(const CascadeFitSettings& settings);
/// At each price the kind that is tried or, of several and the models alone, what is worth most by cross-validation.
std::vector<CascadeCandidate> best_candidates(const TraceTable& table, const CascadeFitSettings& settings,
                                              const PreparedFolds& folds, const std::vector<double>& prices);

/// What is deployed, by the gain where both keep the bound; else the one that does, or comes nearer to it.
void decide(CascadeChoice& choice, const CascadeAim& aim);

/// Ascending, each twice the one before: from where the dearest model's dollars hardly count to where a prompt's
/// cheapest answer costs as much as the best quality is worth. With two digits, for people read them. {1} where
/// nothing costs.
std::vector<double> price_grid(const TraceTable& table);

/// A positive number with so many digits that count.
double rounded(double x, int digits);

/// Each model alone, and cascades at prices around the one at which thresholds, routers at prices around the one at
/// which a router just keeps the bound, in the order in which choose() tries them: from the price that keeps it most
/// easily.
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
  CascadeWorth single;   ///< single_model on other prompts, with the choices without folds
  /// Each kind by itself, on other prompts; only those that were tried.
  std::vector<std::pair<CascadeKind, CascadeWorth>> kinds;
  CascadeWorth promise;  ///< of what is deployed, on other prompts, with whole procedures without folds
  /// Of a log of a cascade: the rules that made it, without exploring. `gain`: of what is deployed over them.
  std::optional<CascadeWorth> running;
  bool keeps_running() const { return running && !(running->gain.low > 0.0); }
  DollarTail tail;                 ///< of what is deployed
  double latency = 0.0;            ///< its 95th per cent under a bound on it, on other prompts
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

/// Of a log of decisions, which fit_cascade() hands on: thresholds of at most three models at a price, those with the
/// greatest mean utility less its standard error by self-normalised importance weights; its promise is doubly robust, of
/// cascades that were searched on other prompts (5 folds). Where thresholds are not tried, a router of the table that
/// with_estimated_first_calls() makes, judged by nobody. Throws Error (usage) for another aim or kind, Error (bad_data)
/// where the log cannot tell.
CascadeFit fit_cascade_to_log(const TraceTable& log, const CascadeFitSettings& settings);

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

/// "a (accepted from 0.9), b": the models of a cascade of thresholds in order; the plans of a router, with "|" between.
std::string order_text(const CascadeOptions& cascade);
/// Of a router: how it predicts, and the plans.
std::string plans_text(const CascadeOptions& cascade);

}  // namespace pandora
