#include "host/cascades/fits/price_grid.hpp"

#include <algorithm>
#include <cmath>

#include "host/cascades/fits/choose.hpp"

namespace pandora {
namespace {

// The last of the coarse prices at which thresholds keep the bound, counted; the first where none does. A few at a
// time, for those that come after the first failure are not needed.
std::size_t last_kept(const TraceTable& table, const CascadeFitSettings& settings, const std::vector<double>& prices) {
  constexpr std::size_t kAtOnce = 4;
  CascadeFitSettings plain = settings;
  plain.thresholds = true;
  plain.indices = false;
  for (std::size_t first = 0; first < prices.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, prices.size() - first);
    std::vector<CascadeCandidate> candidates = {{CascadeKind::single, 0.0, 0}};
    for (std::size_t i = 0; i < count; ++i) candidates.push_back({CascadeKind::thresholds, prices[first + i]});
    const CascadeChoice choice = choose(candidates, cross_validate(table, plain, candidates, false).all, settings.aim);
    const std::size_t last = choice.thresholds->candidate - 1;
    if (!choice.thresholds->met) return first == 0 ? 0 : first - 1;
    if (last + 1 < count) return first + last;
  }
  return prices.size() - 1;
}

}  // namespace

double rounded(double x, int digits) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) + 1.0 - digits);
  // By whichever of a product and a quotient is exact: 0.27, not 0.27000000000000002.
  return unit >= 1.0 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1.0 / unit);
}

std::vector<double> price_grid(const TraceTable& table) {
  constexpr double kHardly = 0.002;  // utility of the dearest model's dollars
  constexpr std::size_t kMost = 64;
  double least = HUGE_VAL, greatest = 0.0;  // means of models that cost
  const std::size_t models = table.models.size();
  for (std::size_t m = 0; m < models; ++m) {
    double mean = 0.0;
    for (std::size_t row = 0; row < table.rows(); ++row)
      mean += table.cost[row * models + m] / static_cast<double>(table.rows());
    if (!(mean > 0.0)) continue;
    least = std::min(least, mean);
    greatest = std::max(greatest, mean);
  }
  if (!(greatest > 0.0)) return {1.0};
  std::vector<double> out;
  for (double price = kHardly / greatest; out.size() < kMost; price *= 2.0) {
    out.push_back(rounded(price, 2));
    if (price >= 1.0 / least) break;
  }
  return out;
}

std::vector<CascadeCandidate> candidates_by_bound(const TraceTable& table, const CascadeFitSettings& settings) {
  const bool dollars = settings.aim.kind == CascadeAim::Kind::most_usd;
  std::vector<double> coarse = price_grid(table);  // that lie apart by 2, from the one that keeps the bound most easily
  if (dollars)
    std::reverse(coarse.begin(), coarse.end());
  else
    coarse.insert(coarse.begin(), 0.0);
  const double kept = coarse[last_kept(table, settings, coarse)];
  // From the easy side to the price at which the bound was not kept any more. Where only 0 keeps it, around the least.
  const double around = kept > 0.0 ? kept : 0.5 * coarse[1];
  std::vector<double> prices = {coarse[0]};
  for (const double factor : {8.0, 4.0, 2.0, 1.41, 1.0, 0.84, 0.71, 0.59, 0.5}) {
    const double price = rounded(dollars ? around * factor : around / factor, 3);
    if (dollars ? price < prices.back() : price > prices.back()) prices.push_back(price);
  }
  std::vector<CascadeCandidate> out;
  for (std::size_t m = 0; m < table.models.size(); ++m) out.push_back({CascadeKind::single, kept, m});
  for (const double price : prices) {
    if (settings.thresholds) out.push_back({CascadeKind::thresholds, price});
    if (settings.indices) out.push_back({CascadeKind::indices, price});
  }
  return out;
}

}  // namespace pandora
