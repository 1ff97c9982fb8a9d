#include "host/ground/figures/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace pandora {
namespace {

using Kind = Figure::Kind;

[[noreturn]] void refuse(const Figure& figure, const std::string& why) {
  throw std::logic_error(fmt::format("figure {}: {}", figure.name, why));
}

bool is_stem(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
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

bool sets_apart(const Figure& figure) {
  return figure.kind == Kind::line_points && figure.series.size() > 1 &&
         std::any_of(figure.series.begin(), figure.series.end(), [](const Series& s) { return !s.low.empty(); });
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

}  // namespace pandora
