#include "host/cascades/fits/frontier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/frontier_metrics.hpp"
#include "host/cascades/fits/trace_check.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr std::size_t kMixtures = 16;  // between two models
constexpr int kRefinements = 2;        // of the grid of prices: each halves the steps that are far apart

FrontierPoint point_of(const std::string& name, double price, const Routed& routed, const PromptGroups& groups) {
  return {name,
          price,
          routed,
          {},
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

// Between neighbours, by price, that lie far apart in dollars or quality.
std::vector<double> prices_between(const std::vector<FrontierPoint>& points) {
  constexpr double kFar = 0.1;  // of the range of all
  const auto dollars = [](const FrontierPoint& point) { return point.usd_per_1000.value; };
  const auto quality = [](const FrontierPoint& point) { return point.quality.value; };
  const auto is_far = [&](auto&& of, const FrontierPoint& a, const FrontierPoint& b) {
    const auto [least, greatest] = std::ranges::minmax(points, {}, of);
    return std::abs(of(a) - of(b)) > kFar * (of(greatest) - of(least));
  };
  std::vector<double> out;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double between = rounded(std::sqrt(points[i - 1].price * points[i].price), 3);
    if (between < points[i - 1].price && between > points[i].price &&
        (is_far(dollars, points[i - 1], points[i]) || is_far(quality, points[i - 1], points[i])))
      out.push_back(between);
  }
  return out;
}

bool differ(const Routed& a, const Routed& b) {
  return a.dollars != b.dollars || a.quality != b.quality;
}

// By prompt, bits of the cascade's models as bits of the table's.
std::vector<std::uint32_t> called_in_table(const ModelCounts& counts, const CascadeInput& input) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t called : counts.by_prompt) {
    std::uint32_t& of_table = out.emplace_back(0);
    for (std::size_t m = 0; m < input.columns.size(); ++m) of_table |= (called >> m & 1u) << input.columns[m];
  }
  return out;
}

std::vector<FrontierPoint> singles_of(const TraceTable& test, const PromptGroups& groups) {
  const Outcomes outcomes{test.models.size(), test.quality, test.quality, test.cost};
  const std::vector<std::size_t> rows = all_rows(test.rows());
  std::vector<FrontierPoint> out;
  for (std::size_t m = 0; m < test.models.size(); ++m) {
    out.push_back(point_of(test.models[m], NAN, evaluate(outcomes, FixedCascade{{m}, {}}, rows), groups));
    out.back().called.assign(rows.size(), 1u << m);
  }
  return out;
}

// `test` has the models of `table`; `estimates`: as fit_filled() has them.
Frontier frontier_of(const TraceTable& table, const TraceTable& test, const CascadeFitSettings& asked,
                     const QualityEstimates* estimates, std::vector<double> prices) {
  CascadeFitSettings settings = asked;
  settings.estimated = estimates != nullptr;
  const std::vector<CascadeKind> kinds = kinds_tried(settings);
  Frontier out{table.source,
               test.source,
               kinds.size() > 1 ? "auto" : kind_text(kinds[0]),
               settings.evaluator,
               settings.judge_usd,
               0,
               group_prompts(test),
               {},
               {},
               {},
               {},
               {}};
  out.prompts = out.groups.count;
  const TrainedTable trained(table, settings, all_rows(table.rows()));
  const std::vector<std::size_t> rows = all_rows(test.rows());
  const auto point_of_candidate = [&](const CascadeCandidate& candidate) {
    const double price = candidate.price;
    const CascadeOptions options = trained.fit_options(candidate);
    Cascade cascade = trained.cascade_of(options);
    const CascadeInput input = cascade_input(options, test, settings.judge());
    const std::string name = options.rules ? fmt::format("indices at price {:g}", price) : order_text(options);
    ModelCounts counts;
    FrontierPoint point = point_of(name, price, run_prompts(cascade, input, rows, &counts), out.groups);
    point.called = called_in_table(counts, input);
    return point;
  };
  const PreparedFolds folds(table, settings, kCascadeFolds, estimates);
  std::vector<FrontierPoint> points;
  const bool own_grid = prices.empty();
  if (own_grid) prices = price_grid(table);
  for (int left = own_grid ? kRefinements : 0; !prices.empty(); --left) {
    const std::size_t before = points.size();
    points.resize(before + prices.size());
    const std::vector<CascadeCandidate> best = best_candidates(table, settings, folds, prices);
    if (settings.progress) settings.progress->expect(prices.size());
    in_parallel(settings.threads, prices.size(), [&](std::size_t i) {
      points[before + i] = point_of_candidate(best[i]);
      if (settings.progress) settings.progress->step();
    });
    std::ranges::sort(points, std::greater(), &FrontierPoint::price);
    if (left == 0) break;
    prices = prices_between(points);
  }
  for (FrontierPoint& point : points)
    if (out.cascades.empty() || differ(point.routed, out.cascades.back().routed))
      out.cascades.push_back(std::move(point));
  out.singles = singles_of(test, out.groups);
  out.mixtures = mixtures_of(table, out.singles);
  for (std::vector<FrontierPoint>* some : {&out.cascades, &out.singles})
    for (FrontierPoint& point : *some) point.above_mixture = above_mixture(point, out.mixtures);
  out.steps = steps_of(out.cascades);
  const CalibratedEvaluator evaluator(table, settings.evaluator);
  out.metrics = metrics_of(out, test, evaluator.calibrate(all_rows(table.rows())), settings.threads);
  return out;
}

Fields fields_of(const Frontier& frontier, const char* kind, const FrontierPoint& point) {
  constexpr const char* kDigits = "{}";
  return {{"kind", kind},
          {"name", point.name},
          {"price", point.price, kDigits},
          {"usd_per_1000", point.usd_per_1000.value, kDigits},
          {"usd_low", point.usd_per_1000.low, kDigits},
          {"usd_high", point.usd_per_1000.high, kDigits},
          {"quality", point.quality.value, kDigits},
          {"quality_low", point.quality.low, kDigits},
          {"quality_high", point.quality.high, kDigits},
          {"calls", point.calls, kDigits},
          {"above_mixture", point.above_mixture, kDigits},
          {"evaluator", frontier.evaluator},
          {"judge_usd", frontier.judge_usd.value_or(NAN), kDigits}};
}

}  // namespace

Frontier find_frontier(const TraceTable& fitted, const TraceTable& test, const CascadeFitSettings& settings,
                       std::vector<double> prices) {
  if (const std::optional<TraceTable> estimated = table_to_fit(test, settings.evaluator))
    return find_frontier(fitted, *estimated, settings, std::move(prices));
  const std::optional<TraceTable> estimated = table_to_fit(fitted, settings.evaluator);
  const TraceTable& table = estimated ? *estimated : fitted;
  std::optional<QualityEstimates> estimates;
  if (estimated) estimates.emplace(fitted, settings.evaluator);
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
  const QualityEstimates* const of_table = estimates ? &*estimates : nullptr;
  if (table.models == test.models) return frontier_of(table, test, settings, of_table, prices);
  return frontier_of(table, select_models(test, table.models), settings, of_table, prices);
}

Columns frontier_columns(const Frontier& frontier) {
  Columns out;
  for (const FrontierPoint& point : frontier.cascades) out.add(fields_of(frontier, "cascade", point));
  for (const FrontierPoint& point : frontier.singles) out.add(fields_of(frontier, "single", point));
  for (const MixturePoint& point : frontier.mixtures) {
    FrontierPoint mixture;
    mixture.name = frontier.singles[point.cheap].name;
    if (point.cheap != point.dear)
      mixture.name = fmt::format("{:.4g} {} + {:.4g} {}", 1.0 - point.share, mixture.name, point.share,
                                 frontier.singles[point.dear].name);
    mixture.usd_per_1000 = {point.usd_per_1000, NAN, NAN};
    mixture.quality = {point.quality, NAN, NAN};
    out.add(fields_of(frontier, "mixture", mixture));
  }
  return out;
}

Table frontier_steps(const Frontier& frontier) {
  Table out;
  out.title = fmt::format("Cascades ({}) on {}, {}, each better than the cheaper ones: what each step costs and brings",
                          frontier.kind, frontier.tested_on, evaluator_text(frontier.evaluator, frontier.judge_usd));
  out.columns = {"", "price", "$ per 1,000", "quality", "above mixture", "more $", "more quality", "$ per 0.01"};
  for (std::size_t i = 0; i < frontier.steps.size(); ++i) {
    const FrontierPoint& point = frontier.cascades[frontier.steps[i]];
    out.notes.push_back(fmt::format("{}: {}", i + 1, point.name));
    Row row{{fmt::format("{}", i + 1), fmt::format("{:g}", point.price), usd_text(point.usd_per_1000),
             interval_text(point.quality, 4),
             std::isfinite(point.above_mixture) ? fmt::format("{:.4f}", point.above_mixture) : "---"}};
    if (i == 0) {
      row.cells.insert(row.cells.end(), 3, "---");
    } else {
      const FrontierPoint& before = frontier.cascades[frontier.steps[i - 1]];
      const double usd = point.usd_per_1000.value - before.usd_per_1000.value;
      const Interval more = difference_over_prompts(point.routed.quality, before.routed.quality, frontier.groups);
      row.cells.push_back(usd_text({usd, NAN, NAN}));
      row.cells.push_back(interval_text(more, 4));
      row.cells.push_back(usd_text({0.01 * usd / more.value, NAN, NAN}));
    }
    out.rows.push_back(row);
  }
  out.notes.push_back(
      "above mixture: quality above that of two models between which chance decides, for the same dollars; more $, "
      "more quality: than the row above, per 1,000 prompts and per prompt; $ per 0.01: for 0.01 of quality more; "
      "intervals are 95% over prompts");
  return out;
}

}  // namespace pandora
