// A cascade from a table: chosen by cross-validation, with promises that hold for prompts which it was not fitted on.
#pragma once

#include "host/cascades/fits/choose.hpp"

namespace pandora {

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
