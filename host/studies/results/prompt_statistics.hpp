// What a policy gives on a table of outcomes, with intervals that count prompts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/study/unit_result.hpp"

namespace pandora {

/// Estimates are means over the periods of all replications with 1.96 standard errors over prompts: what other prompts
/// of the same kind would change. Replications are orders of the same prompts, so a prompt's periods count as one draw:
/// with s_p the sum of its periods' values and n_p their number, the mean is m = sum s_p / sum n_p and its variance P /
/// (P - 1) sum (s_p - m n_p)^2 / (sum n_p)^2. NaN where nothing is known. Per period: utility = quality - price x
/// dollars; gap = the benchmark's utility (lane 0) less the lane's, paired by prompt.
struct PromptStatistics {
  Estimate utility, quality, cost_usd_per_1000, calls, gap;
};

/// Sums over the periods of each prompt, and how many there are.
struct SumsByPrompt {
  std::vector<double> sums, periods;

  /// The mean over periods with its interval over prompts.
  Estimate estimate() const;
};

/// The utility of a lane, over the replications as below. Empty where the units are of no table.
SumsByPrompt utility_by_prompt(std::span<const UnitResult> units, std::size_t lane, double price);

/// Of a lane over the replications in which neither it nor the benchmark failed. `price`: utility per dollar.
PromptStatistics prompt_statistics(std::span<const UnitResult> units, std::size_t lane, double price);

/// A column of PromptStatistics.
struct PromptStatistic {
  const char *column, *title, *unit;
  Estimate PromptStatistics::*member;
};
inline constexpr PromptStatistic kPromptStatistics[] = {
    {"utility", "utility", "quality", &PromptStatistics::utility},
    {"quality", "quality", "0 to 1", &PromptStatistics::quality},
    {"cost_usd_per_1000", "$ per 1,000", "dollars per 1,000 prompts", &PromptStatistics::cost_usd_per_1000},
    {"calls", "calls", "models per prompt", &PromptStatistics::calls},
    {"gap", "gap", "utility", &PromptStatistics::gap},
};

}  // namespace pandora
