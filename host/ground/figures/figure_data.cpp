// NAME.dat.
#include <fmt/format.h>

#include <cmath>

#include "host/ground/base/printable.hpp"
#include "host/ground/figures/figure_columns.hpp"
#include "host/ground/figures/gnuplot_script.hpp"

namespace pandora {
namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "NaN";
}

std::string one_line(const std::string& text) {
  return printable(text, text.size());
}

double at(const std::vector<double>& values, std::size_t i) {
  return values.empty() ? NAN : values[i];
}

std::string header(const Figure& figure) {
  std::string out = fmt::format("# {}.dat: the data of {}.gp", figure.name, figure.name);
  if (!figure.title.empty()) out += ", " + one_line(figure.title);
  out += "\n";
  for (const std::string& note : figure_notes(figure)) out += "# " + one_line(note) + "\n";
  const std::string x = one_line(figure.x_label), y = one_line(figure.y_label);
  int column = 0;
  const auto name = [&](const std::string& what) { out += fmt::format("# column {}: {}\n", ++column, what); };
  if (figure.kind == Figure::Kind::bars) {
    name("category, counted from 1: " + x);
    name("foot of the bar: " + y);
    name("top of the bar: " + y);
  } else {
    name("x: " + x);
    name("y: " + y);
  }
  const FigureColumns columns(figure);
  if (columns.low > 0) {
    name("lower end of the interval of " + y);
    name("upper end of the interval of " + y);
  }
  if (columns.x_low > 0) {
    name("lower end of the interval of " + x);
    name("upper end of the interval of " + x);
  }
  for (std::size_t c = 0; c < figure.categories.size(); ++c)
    out += fmt::format("# category {}: {}\n", c + 1, one_line(figure.categories[c]));
  return out;
}

}  // namespace

std::string figure_data(const Figure& figure) {
  std::string out = header(figure);
  const bool bars = figure.kind == Figure::Kind::bars;
  const FigureColumns columns(figure);
  std::vector<double> feet(figure.categories.size(), 0.);
  for (std::size_t s = 0; s < figure.series.size(); ++s) {
    const Series& series = figure.series[s];
    out += fmt::format("{}# index {}: {}\n", s > 0 ? "\n\n" : "", s, one_line(series.label));
    const auto row = [&](std::initializer_list<double> values, double low, double high, double x_low, double x_high) {
      std::string line;
      for (const double value : values) line += (line.empty() ? "" : "\t") + number(value);
      if (columns.low > 0) line += "\t" + number(low) + "\t" + number(high);
      if (columns.x_low > 0) line += "\t" + number(x_low) + "\t" + number(x_high);
      out += line + "\n";
    };
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      const double foot = bars ? feet[i] : 0, y = series.y[i];
      if (bars)
        row({static_cast<double>(i + 1), foot, foot + y}, foot + at(series.low, i), foot + at(series.high, i), NAN,
            NAN);
      else
        row({series.x[i], y}, at(series.low, i), at(series.high, i), at(series.x_low, i), at(series.x_high, i));
      if (figure.stacked && std::isfinite(y)) feet[i] += y;
    }
    // A block without a row would not count, and the indices of those behind it would shift.
    if (series.y.empty()) row({NAN, NAN}, NAN, NAN, NAN, NAN);
  }
  return out;
}

}  // namespace pandora
