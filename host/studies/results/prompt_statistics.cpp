#include "host/studies/results/prompt_statistics.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "host/studies/results/summary.hpp"

namespace pandora {
namespace {

struct PromptValues {
  double utility = 0.0, quality = 0.0, dollars = 0.0, calls = 0.0;
};

PromptValues values_of(const PromptOutcomes& table, std::size_t row, std::uint32_t outcome, double price) {
  PromptValues out;
  const std::size_t first = row * table.models;
  const std::uint32_t opened = outcome & ((1u << kMaxBoxes) - 1);
  for (std::size_t a = 0; a < table.models; ++a)
    if ((opened >> a & 1) != 0) out.dollars += static_cast<double>(table.dollars[first + a]);
  out.quality = static_cast<double>(table.quality[first + (outcome >> kMaxBoxes)]);
  out.calls = std::popcount(opened);
  out.utility = out.quality - price * out.dollars;
  return out;
}

// body(row, what the lane gave, what the benchmark gave) for every period of the replications that count.
template <class Body>
void for_each_period(std::span<const UnitResult> units, std::size_t lane, double price, Body&& body) {
  for (const UnitResult& unit : units) {
    if (!counts(unit, lane) || unit.table == nullptr) continue;
    const std::vector<std::uint32_t>&own = unit.notes[lane].outcomes, &benchmark = unit.notes[0].outcomes;
    if (own.size() != unit.prompts.size() || benchmark.size() != own.size()) continue;
    for (std::size_t t = 0; t < own.size(); ++t) {
      const std::size_t row = unit.prompts[t];
      body(row, values_of(*unit.table, row, own[t], price), values_of(*unit.table, row, benchmark[t], price));
    }
  }
}

std::size_t prompts_of(std::span<const UnitResult> units) {
  for (const UnitResult& unit : units)
    if (unit.table != nullptr) return unit.table->prompts;
  return 0;
}

}  // namespace

Estimate SumsByPrompt::estimate() const {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double count = 0.0, sum = 0.0, squares = 0.0, prompts = 0.0;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    count += periods[p];
    sum += sums[p];
    prompts += periods[p] > 0.0 ? 1.0 : 0.0;
  }
  if (count == 0.0) return {kUnknown, kUnknown};
  const double mean = sum / count;
  for (std::size_t p = 0; p < sums.size(); ++p) squares += std::pow(sums[p] - mean * periods[p], 2);
  return {mean, prompts > 1.0 ? 1.96 * std::sqrt(prompts / (prompts - 1.0) * squares) / count : kUnknown};
}

SumsByPrompt utility_by_prompt(std::span<const UnitResult> units, std::size_t lane, double price) {
  const std::size_t prompts = prompts_of(units);
  SumsByPrompt out{std::vector<double>(prompts), std::vector<double>(prompts)};
  for_each_period(units, lane, price, [&](std::size_t row, const PromptValues& own, const PromptValues&) {
    out.sums[row] += own.utility;
    out.periods[row] += 1.0;
  });
  return out;
}

PromptStatistics prompt_statistics(std::span<const UnitResult> units, std::size_t lane, double price) {
  const std::size_t prompts = prompts_of(units);
  SumsByPrompt utility{std::vector<double>(prompts), std::vector<double>(prompts)};
  SumsByPrompt quality = utility, dollars = utility, calls = utility, gap = utility;
  for_each_period(units, lane, price, [&](std::size_t row, const PromptValues& own, const PromptValues& benchmark) {
    const auto add = [row](SumsByPrompt& to, double value) {
      to.sums[row] += value;
      to.periods[row] += 1.0;
    };
    add(utility, own.utility);
    add(quality, own.quality);
    add(dollars, 1000.0 * own.dollars);
    add(calls, own.calls);
    add(gap, benchmark.utility - own.utility);
  });
  return {utility.estimate(), quality.estimate(), dollars.estimate(), calls.estimate(), gap.estimate()};
}

}  // namespace pandora
