#include "host/results/prompt_statistics.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "host/results/summary.hpp"

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

// Sums over the periods of each prompt.
class SumsByPrompt {
 public:
  explicit SumsByPrompt(std::size_t prompts) : sums_(prompts) {}
  void add(std::size_t prompt, double value) { sums_[prompt] += value; }

  Estimate estimate(const std::vector<double>& periods) const {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    double count = 0.0, sum = 0.0, squares = 0.0, prompts = 0.0;
    for (std::size_t p = 0; p < sums_.size(); ++p) {
      count += periods[p];
      sum += sums_[p];
      prompts += periods[p] > 0.0 ? 1.0 : 0.0;
    }
    if (count == 0.0) return {kUnknown, kUnknown};
    const double mean = sum / count;
    for (std::size_t p = 0; p < sums_.size(); ++p) squares += std::pow(sums_[p] - mean * periods[p], 2);
    return {mean, prompts > 1.0 ? 1.96 * std::sqrt(prompts / (prompts - 1.0) * squares) / count : kUnknown};
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

PromptStatistics prompt_statistics(std::span<const UnitResult> units, std::size_t lane, double price) {
  std::size_t prompts = 0;
  for (const UnitResult& unit : units)
    if (unit.table != nullptr) prompts = unit.table->prompts;
  std::vector<double> periods(prompts);
  SumsByPrompt utility(prompts), quality(prompts), dollars(prompts), calls(prompts), gap(prompts);
  for (const UnitResult& unit : units) {
    if (!counts(unit, lane) || unit.table == nullptr) continue;
    const std::vector<std::uint32_t>&own = unit.notes[lane].outcomes, &benchmark = unit.notes[0].outcomes;
    if (own.size() != unit.prompts.size() || benchmark.size() != own.size()) continue;
    for (std::size_t t = 0; t < own.size(); ++t) {
      const std::size_t row = unit.prompts[t];
      const PromptValues here = values_of(*unit.table, row, own[t], price);
      periods[row] += 1.0;
      utility.add(row, here.utility);
      quality.add(row, here.quality);
      dollars.add(row, 1000.0 * here.dollars);
      calls.add(row, here.calls);
      gap.add(row, values_of(*unit.table, row, benchmark[t], price).utility - here.utility);
    }
  }
  return {utility.estimate(periods), quality.estimate(periods), dollars.estimate(periods), calls.estimate(periods),
          gap.estimate(periods)};
}

}  // namespace pandora
