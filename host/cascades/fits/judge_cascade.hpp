// A cascade on a table that it was not fitted on, beside one model alone.
#pragma once

#include <optional>

#include "host/cascades/fits/logged_worth.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/ground/tables/table.hpp"
#include "pandora/cascade.hpp"

namespace pandora {

struct JudgedCascade {
  std::string cascade, table;  ///< files
  std::size_t rows = 0, prompts = 0;
  double price = 0.0;
  std::string evaluator;                ///< what the cascade saw here
  std::string fitted_for;               ///< what it was made to see
  std::optional<double> judge_usd;      ///< dollars of judging a call that were counted
  std::string against;                  ///< the model alone
  bool chosen_here = false;             ///< whether it is the best one of this very table
  bool same_table = false;              ///< whether the cascade was fitted on this table
  CascadeWorth worth, alone;            ///< of the cascade, and of the model alone
  std::optional<CascadeWorth> promise;  ///< what the fit promised
  DollarTail tail;                      ///< of the cascade; nothing where values are estimated from a log
  Estimator estimator = Estimator::plugin;
  double effective_prompts = 0.0;  ///< whose weights carry the estimates; all of a full table
  std::optional<SerialLatency> latency;
  std::vector<std::string> notes;            ///< what is assumed
  std::optional<CascadeWorth> running = {};  ///< LoggedWorth::running
  std::string verdict;                       ///< a sentence
};

/// Every prompt goes through a copy of the cascade as a service would send it; nothing is learned. `against`: a model
/// of the table; empty: the best single model of the fit, or of this table where the cascade says of none. `evaluator`:
/// what it sees, instead of what it was made to see; `judge_usd`: instead of what the fit counted. `file` is for
/// messages. `estimator`: how values are found from what the table knows; absent: the best that it identifies. Throws
/// Error (bad_data) where the table lacks a model of the cascade, the model it is held against, or what evaluator and
/// features need, and where it cannot tell; Error (usage) for an estimator that it does not identify.
JudgedCascade judge_cascade(const Cascade& cascade, const std::string& file, const TraceTable& table,
                            const std::string& against, const std::string& evaluator = "",
                            std::optional<double> judge_usd = {}, std::optional<Estimator> estimator = {},
                            Openings openings = Openings::in_order);

Table judged_table(const JudgedCascade& judged);
nlohmann::json judged_json(const JudgedCascade& judged);

/// A cascade's file in words: the models in order, thresholds, calibration; of what the fit wrote beside it what was
/// compared, chosen and promised, and how that depends on models, price and judge.
std::vector<Table> show_tables(const CascadeOptions& cascade, const CascadeCounts& counts, const std::string& file);

}  // namespace pandora
