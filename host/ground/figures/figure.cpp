#include "host/ground/figures/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

using nlohmann::json;
using Kind = Figure::Kind;

[[noreturn]] void refuse(const Figure& figure, const std::string& why) {
  throw std::logic_error(fmt::format("figure {}: {}", figure.name, why));
}

bool is_stem(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Whether the markers of different series are set slightly apart, so that their error bars can be told apart.
bool sets_apart(const Figure& figure) {
  return figure.kind == Kind::line_points && figure.series.size() > 1 &&
         std::any_of(figure.series.begin(), figure.series.end(), [](const Series& s) { return !s.low.empty(); });
}

void check_lengths(const Figure& figure, const Series& series) {
  const auto fits = [&](const std::vector<double>& values) {
    return values.empty() || values.size() == series.y.size();
  };
  const bool bars = figure.kind == Kind::bars;
  if (bars ? !series.x.empty() || series.y.size() != figure.categories.size() : series.x.size() != series.y.size())
    refuse(figure, fmt::format("{} has {} x, {} y and {} categories", series.label, series.x.size(), series.y.size(),
                               figure.categories.size()));
  if (!fits(series.low) || !fits(series.x_low) || series.low.size() != series.high.size() ||
      series.x_low.size() != series.x_high.size())
    refuse(figure, fmt::format("{} has intervals of another length than its values", series.label));
  if (!series.x_low.empty() && figure.kind != Kind::scatter)
    refuse(figure, fmt::format("{} has intervals of x, which only a scatter shows", series.label));
  if (!series.marks.empty() && (series.marks.size() != series.y.size() || figure.kind != Kind::scatter))
    refuse(figure, fmt::format("{} has {} marks of its {} points, and only a scatter shows them", series.label,
                               series.marks.size(), series.y.size()));
  if (series.line && (figure.kind != Kind::scatter || !series.low.empty() || !series.x_low.empty()))
    refuse(figure, fmt::format("{} is a line in place of markers, which only a scatter shows, without intervals",
                               series.label));
}

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

void check(const Figure& figure) {
  if (!is_stem(figure.name)) refuse(figure, "the name must be of letters, digits, _ and -");
  const std::size_t most = figure.kind == Kind::scatter ? kMostMarkers
                           : figure.kind == Kind::bars  ? kMostParts
                                                        : kMostCurves;
  if (figure.series.empty()) refuse(figure, "has no series");
  if (figure.series.size() > most)
    refuse(figure, fmt::format("has {} series, at most {} can be told apart", figure.series.size(), most));
  if (figure.kind == Kind::bars && figure.categories.empty()) refuse(figure, "has no categories");
  if (figure.kind == Kind::bars && figure.log_x) refuse(figure, "categories have no logarithm");
  if (figure.stacked && (figure.kind != Kind::bars || figure.log_y))
    refuse(figure, "only bars on a linear axis can be stacked");
  if (figure.diagonal && (figure.kind != Kind::scatter || figure.log_x != figure.log_y))
    refuse(figure, "only a scatter with two axes of one kind has a diagonal");
  if (!(figure.width_cm >= 4 && figure.width_cm <= 40))
    refuse(figure, fmt::format("a width of {} cm is none for a page", figure.width_cm));
  for (const Series& series : figure.series) check_lengths(figure, series);
}

bool spans_a_decade(const std::vector<double>& values) {
  double low = INFINITY, high = 0.0;
  for (const double value : values) {
    if (value < 0.0) return false;
    if (value == 0.0 || !std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high >= 10.0 * low;
}

std::vector<std::string> figure_notes(const Figure& figure) {
  std::vector<std::string> notes;
  std::string left_out, clipped;
  const auto append = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : "; ") + item; };
  bool zero = false;
  for (const Series& series : figure.series) {
    int out = 0;
    bool clips = false;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (figure.log_x && !series.x.empty() && series.x[i] == 0) zero = true;
      const bool shown = !(figure.log_y && series.y[i] <= 0) && !(figure.log_x && series.x[i] < 0);
      if (!shown) ++out;
      if (shown && figure.log_y && !series.low.empty() && series.low[i] <= 0) clips = true;
      if (shown && figure.log_x && !series.x_low.empty() && series.x_low[i] <= 0) clips = true;
    }
    if (out > 0) append(left_out, fmt::format("{} of {}", out, series.label));
    if (clips) append(clipped, series.label);
  }
  if (!left_out.empty())
    notes.push_back(
        fmt::format("A logarithmic axis cannot show values that are not positive; left out: {}.", left_out));
  if (!clipped.empty())
    notes.push_back(fmt::format("Intervals that reach zero or below end at the edge of the axes: {}.", clipped));
  if (zero) notes.push_back("Zero has a place of its own at the left of the logarithmic axis.");
  if (sets_apart(figure))
    notes.push_back("Markers of different series are set slightly apart so that their intervals can be read.");
  return notes;
}

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
      out += fmt::format("{},{}", s + 1, csv_name(figure.series[s].label));
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
