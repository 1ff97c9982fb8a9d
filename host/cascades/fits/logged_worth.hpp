// What a cascade is worth by a log of another policy, or by a table in which some qualities alone are known.
#pragma once

#include "host/cascades/fits/trained_table.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/outcomes/logs/off_policy.hpp"

namespace pandora {

/// "" is nothing. Throw Error (usage) for unknown words.
std::optional<Estimator> parse_estimator(const std::string& text);
Openings parse_openings(const std::string& text);
/// Throws Error (usage) where openings other than in_order say nothing: of a table that is no log, beside an estimator.
void require_log_for(Openings openings, const TraceTable& table, bool estimator_given);

/// What can be estimated from a table, and in words why not the rest.
struct Identified {
  std::vector<Estimator> estimators;
  std::vector<std::string> reasons;

  bool has(Estimator how) const;
  Estimator best() const { return estimators.back(); }  ///< plugin of a full table, else dr
};
Identified identified(const TraceTable& table);
/// That one, or where none is asked for the best. Throws Error (usage) for one that the table does not identify.
Estimator chosen_estimator(const TraceTable& table, std::optional<Estimator> asked);
std::vector<std::string> estimator_names(const Identified& can);

/// Seconds of a prompt's calls one after the other: the median and the 95th per cent (nearest rank) over the rows whose
/// calls' latencies are all known, of the cascade and of the model alone.
struct SerialLatency {
  double p50 = 0.0, p95 = 0.0, alone_p50 = 0.0, alone_p95 = 0.0;
};

struct LoggedWorth {
  CascadeWorth worth, alone;             ///< of the cascade, and of one model alone
  DollarTail tail;                       ///< of the cascade, where values are plain means
  double effective_prompts = 0.0;        ///< whose weights carry the estimates of the cascade
  double judged_calls = 0.0;             ///< of the cascade, per prompt
  std::optional<SerialLatency> latency;  ///< of a full table that has some
  std::vector<std::string> notes;
  /// Of a cascade's log: the rules that made it, and as their `gain` that of this cascade over them.
  std::optional<CascadeWorth> running = {};
};

/// Of a full table: plain means.
LoggedWorth plain_worth(Cascade& cascade, const CascadeInput& input, std::size_t single);

/// Nothing is learned. `single`: a column of the table. Intervals are robust_interval(), over prompts. Throws Error
/// (bad_data) where the log cannot tell (require_support), or cannot be seen through: an evaluator that needs qualities
/// which are not known.
LoggedWorth logged_worth(Cascade& cascade, const CascadeInput& input, std::size_t single, Estimator how,
                         Openings openings);

}  // namespace pandora
