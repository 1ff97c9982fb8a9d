// What a cascade is worth on some prompts, beside one model alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/traces/prompt_groups.hpp"
#include "host/traces/routing.hpp"

namespace pandora {

/// Means over rows with 95% intervals over prompts.
struct CascadeWorth {
  Interval quality;       ///< of the deployed answer
  Interval usd_per_1000;  ///< dollars per 1,000 prompts
  Interval calls;         ///< per prompt
  Interval utility;       ///< quality - price x dollars
  Interval gain;          ///< in utility over the model alone, paired by prompt
  Interval saving;        ///< 1 - dollars / dollars of the model alone, paired; NaN where that one costs nothing
};

/// `model`: what it alone does on the same rows. `folds`: 0 for policies that were fitted on other prompts; else they
/// were cross-fitted in so many folds, and intervals are as wide as cross_fitted() says.
CascadeWorth worth_of(const Routed& routed, const Routed& model, double price, const PromptGroups& groups,
                      std::size_t folds);

/// The share of the dollars of `model` that `routed` saves; the interval is that of the ratio to the first order.
Interval saving_over_prompts(std::span<const double> dollars, std::span<const double> of_model,
                             const PromptGroups& groups);

/// What stands above the number with 95% confidence, and below it. Of an interval of prompts in `groups`.
double upper_bound(const Interval& interval, const PromptGroups& groups);
double lower_bound(const Interval& interval, const PromptGroups& groups);
/// Of the value.
double standard_error(const Interval& interval, const PromptGroups& groups);

/// The rows that are named, with their prompts numbered anew.
PromptGroups groups_of(const PromptGroups& groups, std::span<const std::size_t> rows);
Routed routed_of(const Routed& routed, std::span<const std::size_t> rows);
/// Room for as many rows, and some rows put into it: some[i] is that of rows[i].
Routed empty_rows(std::size_t rows);
void put_rows(Routed& all, const Routed& some, std::span<const std::size_t> rows);
/// The named rows of `from` at the same places.
void copy_rows(Routed& all, const Routed& from, std::span<const std::size_t> rows);

/// "0.9450 [0.9410, 0.9490]"; "---" for what does not exist.
std::string interval_text(const Interval& interval, int decimals);
/// In dollars, with as many digits as they need.
std::string usd_text(const Interval& interval);
/// "94.4% [93.9%, 94.8%]".
std::string share_text(const Interval& interval);
/// "saves 94.4% [93.9%, 94.8%] of its dollars", "costs 10.0% [5.0%, 15.0%] more".
std::string saving_text(const Interval& saving);
nlohmann::json json_of(const Interval& interval);
nlohmann::json json_of(const CascadeWorth& worth);
/// Throws nlohmann's errors where it is none.
Interval interval_of(const nlohmann::json& json);

}  // namespace pandora
