// The figures of a report as data.
#include "beside.hpp"
#include "bindings.hpp"
#include "host/ground/figures/gnuplot_script.hpp"
#include "host/report/report.hpp"
#include "results.hpp"

namespace pandora::python {
namespace {

Dict series_dict(const Figure& figure, std::size_t number) {
  const Series& series = figure.series[number];
  nb::dict out;
  out["label"] = series.label;
  out["colour"] = series_colour(figure, number);
  out["style"] = series.style < 0 ? static_cast<int>(number) : series.style;
  const std::pair<const char*, const std::vector<double>*> columns[] = {
      {"x", &series.x},       {"y", &series.y},         {"low", &series.low},
      {"high", &series.high}, {"x_low", &series.x_low}, {"x_high", &series.x_high}};
  for (const auto& [name, values] : columns) out[name] = nb::cast(array_of(*values, {values->size()}));
  return out;
}

Dict figure_dict(const std::string& heading, const Figure& figure) {
  constexpr const char* kKinds[] = {"lines", "line_points", "scatter", "bars"};
  nb::dict out;
  out["heading"] = heading;
  out["kind"] = kKinds[static_cast<int>(figure.kind)];
  out["name"] = figure.name;
  out["title"] = figure.title;
  out["x_label"] = figure.x_label;
  out["y_label"] = figure.y_label;
  out["log_x"] = figure.log_x;
  out["log_y"] = figure.log_y;
  out["stacked"] = figure.stacked;
  out["diagonal"] = figure.diagonal;
  out["categories"] = figure.categories;
  out["caption"] = figure.caption;
  out["width_cm"] = figure.width_cm;
  nb::list series, references;
  for (std::size_t k = 0; k < figure.series.size(); ++k) series.append(series_dict(figure, k));
  for (const ReferenceLine& line : figure.references)
    references.append(nb::make_tuple(line.at, line.vertical, line.label));
  out["series"] = series;
  out["references"] = references;
  return out;
}

DictList figures_of(Results& results, std::optional<int> T0, bool differences) {
  const std::vector<FigureGroup> groups = beside([&](Beside&) {
    const std::lock_guard lock(results.mutex());
    StoredResults& stored = results.stored();
    const std::vector<SettingSummary> settings = stored.summaries();
    const auto pairs = differences ? compared_pairs(stored, settings, {}) : std::vector<ComparedPair>();
    return report_figures(stored, settings, pairs, T0);
  });
  nb::list out;
  for (const FigureGroup& group : groups)
    for (const Figure& figure : group.figures) out.append(figure_dict(group.heading, figure));
  return out;
}

}  // namespace

void bind_figures(nb::module_& module) {
  module.def("figures", &figures_of, nb::arg("results"), nb::arg("T0").none(), nb::arg("differences"),
             "The figures of a report, with or without the paired differences: dicts of what they show, with the "
             "colours of their series.");
}

}  // namespace pandora::python
