// What a cascade is worth on some prompts, beside one model alone.
#pragma once

#include "host/ground/statistics/statistics.hpp"
#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// Means over rows with 95% intervals over prompts.
struct CascadeWorth {
  Interval quality;               ///< of the deployed answer
  Interval usd_per_1000;          ///< dollars per 1,000 prompts
  Interval calls;                 ///< per prompt
  Interval utility;               ///< quality - price x dollars
  Interval gain;                  ///< in utility over the model alone, paired by prompt
  static CascadeWorth unknown();  ///< NaN

  Interval saving;  ///< 1 - dollars / dollars of the model alone, paired; NaN where that one costs nothing
};

/// An interval of a difference to a fitted policy that also counts how it would have come out on another table:
/// `folds`-fold cross-validation's variance times 1 + folds / (folds - 1), so 1.5 times as wide for five (Nadeau and
/// Bengio 2003). Over prompts alone, a fit that opens a second answer for one prompt in fifty "pays" in one table of
/// ten where it does not on fresh prompts.
Interval cross_fitted(const Interval& over_prompts, std::size_t folds);

/// `model`: what it alone does on the same rows. `folds`: 0 for policies that were fitted on other prompts; else they
/// were cross-fitted in so many folds, and intervals are as wide as cross_fitted() says.
CascadeWorth worth_of(const Routed& routed, const Routed& model, double price, const PromptGroups& groups,
                      std::size_t folds);

/// Times 1,000.
std::vector<double> per_1000(std::vector<double> dollars);

/// The share of the dollars of `model` that `routed` saves; the interval is that of the ratio to the first order.
Interval saving_over_prompts(std::span<const double> dollars, std::span<const double> of_model,
                             const PromptGroups& groups);

/// What stands above the number (upper) or below it with 95% confidence, where values of prompts are skewed. Of an
/// interval of prompts in `groups`; `by_row`: the values.
double confident_bound(const Interval& interval, std::span<const double> by_row, const PromptGroups& groups,
                       bool upper);

/// How unevenly dollars are spread over prompts.
struct DollarTail {
  double skewness = 0.0;
  std::size_t prompts = 0, dearest = 0;  ///< dearest: one in a hundred, at least one
  double share = 0.0;                    ///< of all dollars that the dearest carry
  double mean = 0.0;                     ///< dollars of a row

  /// Of which a mean so skewed could be bounded; more have a greater skewness.
  double least_prompts() const { return least_values(skewness); }
  bool heavy() const { return static_cast<double>(prompts) < least_prompts(); }
};
DollarTail dollar_tail(std::span<const double> dollars, const PromptGroups& groups);
/// "the dearest 3 of 300 prompts carry 41% of the dollars; a skewness of 9.1 asks for 2,071 prompts and more".
std::string tail_text(const DollarTail& tail);

/// The nearest rank to that share of ascending numbers, of at least one.
double nearest_rank(std::span<const double> sorted, double share);
/// The 95th per cent, by nearest rank, of the seconds that are known; NaN where none is.
double latency_p95(std::vector<double> seconds);

/// Of the value.
double standard_error(const Interval& interval, const PromptGroups& groups);

/// The rows that are named, with their prompts numbered anew.
PromptGroups groups_of(const PromptGroups& groups, std::span<const std::size_t> rows);

/// In dollars, with as many digits after the point as show three.
std::string usd_text(const Interval& interval);
/// "94.4% [93.9%, 94.8%]".
std::string share_text(const Interval& interval);
/// "saves 94.4% [93.9%, 94.8%] of its dollars", "costs 10.0% [5.0%, 15.0%] more".
std::string saving_text(const Interval& saving);
nlohmann::json json_of(const CascadeWorth& worth);
/// Of a record that anybody may have written: NaN for what is not there.
Interval interval_in(const nlohmann::json& record, const char* name);
CascadeWorth worth_in(const nlohmann::json& record);

}  // namespace pandora
