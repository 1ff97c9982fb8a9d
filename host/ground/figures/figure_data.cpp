#include "host/ground/figures/figure_data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, std::vector<double> Series::*> kColumns[] = {
    {"x", &Series::x},       {"y", &Series::y},         {"low", &Series::low},
    {"high", &Series::high}, {"x_low", &Series::x_low}, {"x_high", &Series::x_high}};

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string caption_of(const Figure& figure) {
  std::string caption = figure.caption.empty() ? figure.title : figure.caption;
  for (const std::string& note : figure_notes(figure)) {
    if (!caption.empty()) caption += caption.back() == '.' ? " " : ". ";
    caption += note;
  }
  return caption;
}

std::string spoken(const Figure& figure) {
  std::string out = figure.title.empty() ? figure.name : figure.title;
  if (!figure.x_label.empty() && !figure.y_label.empty()) out += ": " + figure.y_label + " against " + figure.x_label;
  for (const Series& series : figure.series) out += (&series == &figure.series[0] ? "; " : ", ") + series.label;
  return out;
}

json series_json(const Series& series, bool with_data) {
  json out = {{"label", series.label}, {"policy", series.policy}, {"reward", series.reward}, {"line", series.line}};
  if (!series.marks.empty()) out["marks"] = series.marks;
  if (with_data)
    for (const auto& [name, values] : kColumns) out[name] = series.*values;  // NaN becomes null
  return out;
}

}  // namespace

std::string figure_csv(const Figure& figure) {
  const bool bars = figure.kind == Figure::Kind::bars;
  std::vector<std::pair<const char*, std::vector<double> Series::*>> columns;
  for (const auto& column : kColumns)
    for (const Series& series : figure.series)
      if (!(series.*column.second).empty()) {
        columns.push_back(column);
        break;
      }
  std::string out = bars ? "series,label,category" : "series,label";
  for (const auto& [name, values] : columns) out += fmt::format(",{}", name);
  out += "\n";
  for (std::size_t s = 0; s < figure.series.size(); ++s)
    for (std::size_t i = 0; i < figure.series[s].y.size(); ++i) {
      out += fmt::format("{},{}", s + 1, csv_cell(figure.series[s].label));
      if (bars) out += "," + csv_cell(figure.categories[i]);
      for (const auto& [name, values] : columns) {
        const std::vector<double>& column = figure.series[s].*values;
        out += "," + (column.empty() ? "" : number(column[i]));
      }
      out += "\n";
    }
  return out;
}

json figure_json(const Figure& figure, bool with_data) {
  constexpr const char* kKinds[] = {"lines", "line_points", "scatter", "bars"};
  json out = {{"name", figure.name},         {"kind", kKinds[static_cast<int>(figure.kind)]},
              {"title", figure.title},       {"caption", caption_of(figure)},
              {"spoken", spoken(figure)},    {"x_label", figure.x_label},
              {"y_label", figure.y_label},   {"x_key", figure.x_key},
              {"log_x", figure.log_x},       {"log_y", figure.log_y},
              {"stacked", figure.stacked},   {"diagonal", figure.diagonal},
              {"apart", sets_apart(figure)}, {"categories", figure.categories},
              {"width_cm", figure.width_cm}, {"references", json::array()},
              {"series", json::array()}};
  for (const ReferenceLine& line : figure.references)
    out["references"].push_back({{"at", line.at}, {"vertical", line.vertical}, {"label", line.label}});
  for (const Series& series : figure.series) out["series"].push_back(series_json(series, with_data));
  return out;
}

}  // namespace pandora
