// At which prices cascades are tried: over a wide range, and around the one at which a bound is just kept.
#include <algorithm>
#include <cmath>

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora {

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

namespace {

// The last of the coarse prices at which the kind keeps the bound, counted; the first where none does. A few at a
// time, for those that come after the first failure are not needed.
std::size_t last_kept(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& folds,
                      CascadeKind kind, const std::vector<double>& prices) {
  constexpr std::size_t kAtOnce = 4;
  CascadeFitSettings plain = settings.only(kind);
  plain.aim.most_latency.reset();
  for (std::size_t first = 0; first < prices.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, prices.size() - first);
    std::vector<CascadeCandidate> candidates = {{CascadeKind::single, 0.0, 0}};
    for (std::size_t i = 0; i < count; ++i) candidates.push_back({kind, prices[first + i]});
    const CascadeChoice choice =
        choose(candidates, cross_validate(table, plain, folds, candidates, false).all, plain.aim);
    const PickedCandidate& picked = choice.best_of(kind);
    const std::size_t last = picked.candidate - 1;
    if (!picked.met) return first == 0 ? 0 : first - 1;
    if (last + 1 < count) return first + last;
  }
  return prices.size() - 1;
}

}  // namespace

std::vector<CascadeCandidate> candidates_by_bound(const TraceTable& table, const CascadeFitSettings& settings,
                                                  const PreparedFolds& folds) {
  const bool dollars = settings.aim.kind == CascadeAim::Kind::most_usd;
  std::vector<double> coarse = price_grid(table);  // that lie apart by 2, from the one that keeps the bound most easily
  if (dollars)
    std::reverse(coarse.begin(), coarse.end());
  else
    coarse.insert(coarse.begin(), 0.0);
  std::vector<CascadeCandidate> out;
  const auto add = [&](CascadeKind by, const std::vector<CascadeKind>& kinds) {
    if (std::ranges::none_of(kinds, [&](CascadeKind kind) { return settings.tries(kind); })) return;
    const double kept = coarse[last_kept(table, settings, folds, by, coarse)];
    for (std::size_t m = 0; out.size() < table.models.size(); ++m) out.push_back({CascadeKind::single, kept, m});
    // From the easy side to the price at which the bound was not kept any more. Where only 0 keeps it, around the
    // least.
    const double around = kept > 0.0 ? kept : 0.5 * coarse[1];
    std::vector<double> prices = {coarse[0]};
    for (const double factor : {8.0, 4.0, 2.0, 1.41, 1.0, 0.84, 0.71, 0.59, 0.5}) {
      const double price = rounded(dollars ? around * factor : around / factor, 3);
      if (dollars ? price < prices.back() : price > prices.back()) prices.push_back(price);
    }
    for (const CascadeKind kind : kinds)
      for (const double price : prices)
        if (settings.tries(kind)) out.push_back({kind, price});
  };
  add(CascadeKind::thresholds, {CascadeKind::thresholds, CascadeKind::indices, CascadeKind::routed});
  add(CascadeKind::router, {CascadeKind::router});
  return out;
}

}  // namespace pandora
