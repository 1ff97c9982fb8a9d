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

FrontierPoint point_of(const std::string& name, double price, const Routed& routed, const PromptGroups& groups) {
  return {name,
          price,
          routed,
          mean_over_prompts(routed.quality, groups),
          mean_over_prompts(per_1000(routed.dollars), groups),
          std::accumulate(routed.calls.begin(), routed.calls.end(), 0.0) / static_cast<double>(routed.calls.size()),
          0.0};
}

// The models of the upper hull of the fitting table, by dollars: no mixture of others is better there.
std::vector<std::size_t> hull(const TraceTable& table) {
  const std::size_t models = table.models.size();
  std::vector<double> quality(models), usd(models);
  for (std::size_t i = 0; i < table.quality.size(); ++i) {
    quality[i % models] += table.quality[i];
    usd[i % models] += table.cost[i];
  }
  std::vector<std::size_t> by_dollars = all_rows(models), out;
  std::sort(by_dollars.begin(), by_dollars.end(),
            [&](std::size_t a, std::size_t b) { return usd[a] != usd[b] ? usd[a] < usd[b] : quality[a] > quality[b]; });
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

// The models of the fitting table's hull, and mixtures of each with the next.
std::vector<MixturePoint> mixtures_of(const TraceTable& table, const std::vector<FrontierPoint>& singles) {
  const std::vector<std::size_t> models = hull(table);
  std::vector<MixturePoint> out;
  const auto add = [&](std::size_t a, std::size_t b, double share) {
    const auto between = [&](const Interval& from, const Interval& to) {
      return from.value + share * (to.value - from.value);
    };
    out.push_back({a, b, share, between(singles[a].quality, singles[b].quality),
                   between(singles[a].usd_per_1000, singles[b].usd_per_1000)});
  };
  add(models[0], models[0], 0.0);
  for (std::size_t i = 0; i + 1 < models.size(); ++i)
    for (std::size_t k = 1; k <= kMixtures; ++k)
      add(models[i], models[i + 1], static_cast<double>(k) / static_cast<double>(kMixtures));
  return out;
}

double above_mixture(const FrontierPoint& point, const std::vector<MixturePoint>& mixtures) {
  const double usd = point.usd_per_1000.value;
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

// Each dearer and better than the one before.
std::vector<std::size_t> steps_of(const std::vector<FrontierPoint>& cascades) {
  std::vector<std::size_t> by_dollars = all_rows(cascades.size()), out;
  std::stable_sort(by_dollars.begin(), by_dollars.end(), [&](std::size_t a, std::size_t b) {
    return cascades[a].usd_per_1000.value < cascades[b].usd_per_1000.value;
  });
  for (const std::size_t i : by_dollars)
    if (out.empty() || cascades[i].quality.value > cascades[out.back()].quality.value) out.push_back(i);
  return out;
}

// `test` has the models of `table`.
Frontier frontier_of(const TraceTable& table, const TraceTable& test, const CascadeFitSettings& settings,
                     std::vector<double> prices) {
  const CascadeKind kind = settings.indices ? CascadeKind::indices : CascadeKind::thresholds;
  Frontier out{table.source,
               test.source,
               kind_text(kind),
               settings.evaluator,
               settings.judge_usd,
               0,
               group_prompts(test),
               {},
               {},
               {},
               {}};
  out.prompts = out.groups.count;
  const TrainedTable trained(table, settings, all_rows(table.rows()));
  const std::vector<std::size_t> rows = all_rows(test.rows());
  std::sort(prices.rbegin(), prices.rend());
  std::vector<FrontierPoint> points(prices.size());
  in_parallel(settings.threads, prices.size(), [&](std::size_t i) {
    const double price = prices[i];
    const CascadeOptions options = kind == CascadeKind::indices
                                       ? trained.options_of_indices(price, true)
                                       : trained.options_of(trained.fit_order({kind, price}), price);
    const bool judged = options.rules || options.order.size() > 1;
    Cascade cascade = trained.cascade_of(options);
    const CascadeInput input = cascade_input(options, test, judged ? settings.judge() : 0.0);
    const std::string name = options.rules ? fmt::format("indices at price {:g}", price) : order_text(options);
    points[i] = point_of(name, price, run_prompts(cascade, input, rows), out.groups);
  });
  for (FrontierPoint& point : points)
    if (out.cascades.empty() || point.routed.dollars != out.cascades.back().routed.dollars ||
        point.routed.quality != out.cascades.back().routed.quality)
      out.cascades.push_back(std::move(point));
  const Outcomes outcomes{test.models.size(), test.quality, test.quality, test.cost};
  for (std::size_t m = 0; m < test.models.size(); ++m)
    out.singles.push_back(point_of(test.models[m], NAN, evaluate(outcomes, FixedCascade{{m}, {}}, rows), out.groups));
  out.mixtures = mixtures_of(table, out.singles);
  for (std::vector<FrontierPoint>* some : {&out.cascades, &out.singles})
    for (FrontierPoint& point : *some) point.above_mixture = above_mixture(point, out.mixtures);
  out.steps = steps_of(out.cascades);
  return out;
}

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
  if (table.models == test.models) return frontier_of(table, test, settings, prices);
  return frontier_of(table, select_models(test, table.models), settings, prices);
}

}  // namespace pandora
