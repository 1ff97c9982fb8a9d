// A frontier as tables and as a figure.
#include <fmt/format.h>

#include <cmath>

#include "host/cascades/fits/frontier.hpp"
#include "host/outcomes/tables/evaluator_spec.hpp"

namespace pandora {
namespace {

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

void add_point(Series& series, const FrontierPoint& point) {
  series.x.push_back(point.usd_per_1000.value);
  series.x_low.push_back(point.usd_per_1000.low);
  series.x_high.push_back(point.usd_per_1000.high);
  series.y.push_back(point.quality.value);
  series.low.push_back(point.quality.low);
  series.high.push_back(point.quality.high);
}

// The utilities per dollar that the cascades were fitted for.
std::string prices_text(const Frontier& frontier) {
  if (frontier.cascades.empty()) return "";
  const double most = frontier.cascades.front().price, least = frontier.cascades.back().price;
  return least == most ? fmt::format(", price {:.4g} of utility per dollar", most)
                       : fmt::format(", prices {:.4g} to {:.4g} of utility per dollar", least, most);
}

}  // namespace

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

Figure frontier_figure(const Frontier& frontier) {
  Figure out{.kind = Figure::Kind::scatter,
             .name = "frontier",
             .title = fmt::format("Cascades ({}) with {}{}", frontier.kind,
                                  evaluator_text(frontier.evaluator, frontier.judge_usd), prices_text(frontier)),
             .x_label = "dollars per 1,000 prompts",
             .y_label = "quality",
             .log_x = true,
             .series = {},
             .width_cm = 12.0};
  Series& cascades = out.series.emplace_back(Series{.label = fmt::format("cascades ({})", frontier.kind)});
  cascades.marks.resize(frontier.cascades.size());
  for (const FrontierPoint& point : frontier.cascades) add_point(cascades, point);
  for (std::size_t i = 0; i < frontier.steps.size(); ++i) cascades.marks[frontier.steps[i]] = fmt::format("{}", i + 1);
  if (frontier.mixtures.size() > 1) {  // one is a model alone
    Series& mixtures = out.series.emplace_back(Series{.label = "mixtures of two models", .line = true});
    for (const MixturePoint& point : frontier.mixtures) {
      mixtures.x.push_back(point.usd_per_1000);
      mixtures.y.push_back(point.quality);
    }
  }
  const bool together = frontier.singles.size() + 2 > kMostMarkers;
  for (const FrontierPoint& point : frontier.singles) {
    if (!together || &point == &frontier.singles[0])
      out.series.push_back({.label = together ? "models alone" : point.name});
    add_point(out.series.back(), point);
  }
  out.caption = fmt::format(
      "Quality against dollars on {} prompts of {}, fitted on {}; 95% intervals over prompts; a "
      "number is that of the table of steps.",
      frontier.prompts, frontier.tested_on, frontier.fitted_on);
  return out;
}

ReportDocument frontier_document(const Frontier& frontier) {
  ReportDocument out;
  out.title = "Quality against dollars";
  out.subtitle =
      fmt::format("Fitted on {}, judged on {}: {} prompts, {}, 95% intervals over prompts", frontier.fitted_on,
                  frontier.tested_on, frontier.prompts, evaluator_text(frontier.evaluator, frontier.judge_usd));
  ReportSection& section = out.sections.emplace_back();
  section.heading = "Cascades, models and mixtures";
  section.figures.push_back(frontier_figure(frontier));
  section.tables.push_back(frontier_steps(frontier));
  section.tables.back().label = "steps";
  return out;
}

}  // namespace pandora
