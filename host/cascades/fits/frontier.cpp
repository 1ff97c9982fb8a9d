#include "host/cascades/fits/frontier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/price_grid.hpp"
#include "host/cascades/fits/trace_check.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr std::size_t kMixtures = 16;  // between two models

class FrontierSearch {
 public:
  FrontierSearch(const TraceTable& table, const TraceTable& test, const CascadeFitSettings& settings)
      : table_(table), test_(test), settings_(settings), trained_(table, settings, all_rows(table.rows())) {
    out_.fitted_on = table.source;
    out_.tested_on = test.source;
    out_.kind = kind_text(kind());
    out_.evaluator = settings.evaluator;
    out_.judge_usd = settings.judge_usd;
    out_.groups = group_prompts(test);
    out_.prompts = out_.groups.count;
  }

  Frontier run(std::vector<double> prices) {
    std::sort(prices.rbegin(), prices.rend());
    std::vector<FrontierPoint> points(prices.size());
    in_parallel(settings_.threads, prices.size(), [&](std::size_t i) { points[i] = cascade_at(prices[i]); });
    for (FrontierPoint& point : points)
      if (out_.cascades.empty() || point.routed.dollars != out_.cascades.back().routed.dollars ||
          point.routed.quality != out_.cascades.back().routed.quality)
        out_.cascades.push_back(std::move(point));
    add_singles();
    mix();
    for (std::vector<FrontierPoint>* some : {&out_.cascades, &out_.singles})
      for (FrontierPoint& point : *some) point.above_mixture = above_mixture(point);
    find_steps();
    return std::move(out_);
  }

 private:
  CascadeKind kind() const { return settings_.indices ? CascadeKind::indices : CascadeKind::thresholds; }

  FrontierPoint cascade_at(double price) const {
    FrontierPoint out;
    out.price = price;
    const CascadeOptions options = kind() == CascadeKind::indices
                                       ? trained_.options_of_indices(price, true)
                                       : trained_.options_of(trained_.fit_order({kind(), price}), price);
    const bool judged = options.rules || options.order.size() > 1;
    Cascade cascade = options.rules ? trained_.fit_indices(options) : Cascade(options);
    const CascadeInput input = cascade_input(options, test_, judged ? settings_.judge() : 0.0);
    out.name = options.rules ? fmt::format("indices at price {:g}", price) : order_text(options);
    out.routed = run_prompts(cascade, input, all_rows(test_.rows()));
    measure(out);
    return out;
  }

  void measure(FrontierPoint& point) const {
    point.quality = mean_over_prompts(point.routed.quality, out_.groups);
    point.usd_per_1000 = mean_over_prompts(per_1000(point.routed.dollars), out_.groups);
    point.calls = std::accumulate(point.routed.calls.begin(), point.routed.calls.end(), 0.0) /
                  static_cast<double>(point.routed.calls.size());
  }

  void add_singles() {
    const Outcomes outcomes{test_.models.size(), test_.quality, test_.quality, test_.cost};
    for (std::size_t m = 0; m < test_.models.size(); ++m) {
      FrontierPoint& point = out_.singles.emplace_back();
      point.name = test_.models[m];
      point.routed = evaluate(outcomes, FixedCascade{{m}, {}}, all_rows(test_.rows()));
      measure(point);
    }
  }

  // The models of the upper hull of the fitting table, by dollars: no mixture of others is better there.
  std::vector<std::size_t> hull() const {
    const std::size_t models = table_.models.size();
    std::vector<double> quality(models), usd(models);
    for (std::size_t i = 0; i < table_.quality.size(); ++i) {
      quality[i % models] += table_.quality[i];
      usd[i % models] += table_.cost[i];
    }
    std::vector<std::size_t> by_dollars = all_rows(models), out;
    std::sort(by_dollars.begin(), by_dollars.end(), [&](std::size_t a, std::size_t b) {
      return usd[a] != usd[b] ? usd[a] < usd[b] : quality[a] > quality[b];
    });
    for (const std::size_t m : by_dollars) {
      if (!out.empty() && quality[m] <= quality[out.back()]) continue;
      const auto below = [&] {  // the last one, under the line from the one before it to m
        const std::size_t a = out[out.size() - 2], b = out.back();
        return (quality[b] - quality[a]) * (usd[m] - usd[a]) <= (quality[m] - quality[a]) * (usd[b] - usd[a]);
      };
      while (out.size() > 1 && below()) out.pop_back();
      out.push_back(m);
    }
    return out;
  }

  void mix() {
    const std::vector<std::size_t> models = hull();
    const auto add = [&](std::size_t a, std::size_t b, double share) {
      const auto between = [&](double from, double to) { return from + share * (to - from); };
      out_.mixtures.push_back({a, b, share, between(out_.singles[a].quality.value, out_.singles[b].quality.value),
                               between(out_.singles[a].usd_per_1000.value, out_.singles[b].usd_per_1000.value)});
    };
    add(models[0], models[0], 0.0);
    for (std::size_t i = 0; i + 1 < models.size(); ++i)
      for (std::size_t k = 1; k <= kMixtures; ++k)
        add(models[i], models[i + 1], static_cast<double>(k) / static_cast<double>(kMixtures));
  }

  double above_mixture(const FrontierPoint& point) const {
    const double usd = point.usd_per_1000.value;
    const std::vector<MixturePoint>& mixtures = out_.mixtures;
    if (usd < mixtures.front().usd_per_1000 * (1.0 - 1e-12)) return std::numeric_limits<double>::quiet_NaN();
    double best = mixtures.front().quality;
    for (std::size_t i = 1; i < mixtures.size(); ++i) {
      const MixturePoint &a = mixtures[i - 1], &b = mixtures[i];
      const double width = b.usd_per_1000 - a.usd_per_1000;
      const double share =
          width > 0.0 ? std::clamp((usd - a.usd_per_1000) / width, 0.0, 1.0) : (usd >= b.usd_per_1000 ? 1.0 : 0.0);
      if (share > 0.0) best = a.quality + share * (b.quality - a.quality);
    }
    return point.quality.value - best;
  }

  void find_steps() {
    std::vector<std::size_t> by_dollars = all_rows(out_.cascades.size());
    std::stable_sort(by_dollars.begin(), by_dollars.end(), [&](std::size_t a, std::size_t b) {
      return out_.cascades[a].usd_per_1000.value < out_.cascades[b].usd_per_1000.value;
    });
    for (const std::size_t i : by_dollars)
      if (out_.steps.empty() || out_.cascades[i].quality.value > out_.cascades[out_.steps.back()].quality.value)
        out_.steps.push_back(i);
  }

  const TraceTable &table_, &test_;
  const CascadeFitSettings& settings_;
  const TrainedTable trained_;
  Frontier out_;
};

}  // namespace

Frontier find_frontier(const TraceTable& table, const TraceTable& test, const CascadeFitSettings& settings,
                       std::vector<double> prices) {
  require_sound(settings);
  require_content(table);
  require_content(test);
  require_few_models(table, 0.0, "fitted");
  require_apart(table, test);
  for (const double price : prices)
    if (!(price >= 0.0 && price <= kMostPrice))
      throw Error(ExitCode::usage,
                  fmt::format("price {:g}: out of range; give utility per dollar, finite numbers that are not negative",
                              price));
  if (prices.empty()) prices = price_grid(table);
  if (table.models == test.models) return FrontierSearch(table, test, settings).run(prices);
  return FrontierSearch(table, select_models(test, table.models), settings).run(prices);
}

}  // namespace pandora
