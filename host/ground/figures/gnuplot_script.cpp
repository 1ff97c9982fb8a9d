// NAME.gp: one section per thing that somebody may want to change.
#include "host/ground/figures/gnuplot_script.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "host/ground/base/printable.hpp"
#include "host/ground/base/split.hpp"
#include "host/ground/figures/figure_layout.hpp"
#include "host/ground/figures/plot_commands.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;

// Apart in lightness as well as in hue, and told apart by every common form of colour blindness (after Okabe and Ito).
constexpr std::array kColours = {"#000000", "#0060A8", "#D04A00", "#00936A", "#B0609A", "#D98E00", "#4AA3DF"};
constexpr std::array kDashes = {"1", "(12,4)", "(3,3)", "(12,3,3,3)", "(7,3)", "(12,3,3,3,3,3)", "(18,5)"};
// Filled and open by turns: circle, square, triangle, diamond, and so on, by gnuplot's numbers.
constexpr std::array kMarkers = {7, 4, 9, 12, 5, 10, 2, 13, 6, 11, 8, 15, 1, 14, 3};

// Dark to light in even steps, so that the parts of a bar are told apart in grey.
std::string part_colour(std::size_t part, std::size_t parts) {
  constexpr std::array<std::array<double, 3>, 5> anchors = {
      {{20, 40, 90}, {40, 100, 140}, {80, 160, 150}, {180, 205, 130}, {252, 240, 190}}};
  const double place = parts < 2 ? 1. : 4. * static_cast<double>(part) / static_cast<double>(parts - 1);
  const std::size_t left = std::min<std::size_t>(static_cast<std::size_t>(place), 3);
  const double weight = place - static_cast<double>(left);
  std::string colour = "#";
  for (int c = 0; c < 3; ++c)
    colour += fmt::format("{:02X}", static_cast<int>(anchors[left][c] * (1 - weight) + anchors[left + 1][c] * weight));
  return colour;
}

std::size_t place_of(const Figure& figure, std::size_t series) {
  const int wanted = figure.series[series].style;
  return wanted < 0 ? series : static_cast<std::size_t>(wanted);
}

}  // namespace

std::string series_colour(const Figure& figure, std::size_t series) {
  return figure.kind == Kind::bars ? part_colour(series, figure.series.size())
                                   : kColours[place_of(figure, series) % kColours.size()];
}

namespace {

std::string styles(const Figure& figure) {
  std::string out = "# Line styles: one for each series, then (90) for references.\n";
  const std::size_t count = figure.series.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = place_of(figure, i);
    if (figure.kind == Kind::bars)
      out += fmt::format("set style line {} lc rgb '{}' lw 0.5\n", i + 1, series_colour(figure, i));
    else
      out += fmt::format("set style line {} lc rgb '{}' lw 1.2 dt {} pt {} ps {}\n", i + 1, series_colour(figure, i),
                         figure.kind == Kind::scatter ? "1" : kDashes[place % kDashes.size()],
                         kMarkers[place % kMarkers.size()], figure.kind == Kind::scatter ? 0.65 : 0.5);
  }
  return out + "set style line 90 lc rgb '#606060' lw 0.8 dt (4,4)\n\n";
}

std::string ticks(const char* axis, const Axis& content) {
  std::string list;
  for (const Tick& tick : content.ticks)
    list +=
        fmt::format("{}'{}' {:.12g}{}", list.empty() ? "" : ", ", tick.label, tick.at, tick.label.empty() ? " 1" : "");
  return fmt::format("set {}tics ({}) nomirror\n", axis, list);
}

std::string range(const char* axis, const Axis& content) {
  return fmt::format("set {}range [{:.6g}:{:.6g}]\n", axis, content.low, content.high);
}

// The names of ticks are formats of printf.
std::string as_format(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

std::string category_axis(const char* axis, const FigureLayout& layout) {
  std::string list;
  for (std::size_t c = 0; c < layout.categories.size(); ++c)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", as_format(gnuplot_text(layout.categories[c])), c + 1);
  const double first = 0.5, last = static_cast<double>(layout.categories.size()) + 0.5;
  return fmt::format("set {}range [{}:{}]\nset {}tics ({}) nomirror scale 0 noenhanced\n", axis,
                     layout.horizontal ? last : first, layout.horizontal ? first : last, axis, list);
}

std::string axes(const Figure& figure, const FigureLayout& layout) {
  std::string out = "# Axes.\n";
  if (figure.kind == Kind::bars) {
    const char *const categories = layout.horizontal ? "y" : "x", *const values = layout.horizontal ? "x" : "y";
    if (figure.log_y) out += fmt::format("set logscale {}\n", values);
    out += category_axis(categories, layout) + range(values, layout.y) + ticks(values, layout.y);
    out += fmt::format("set grid {}tics lc rgb '#D8D8D8' lw 0.5 lt 1\n", values);
  } else {
    if (figure.log_x) out += "set logscale x\n";
    if (figure.log_y) out += "set logscale y\n";
    out += range("x", layout.x) + ticks("x", layout.x) + range("y", layout.y) + ticks("y", layout.y);
    out += "set grid xtics ytics lc rgb '#D8D8D8' lw 0.5 lt 1\n";
    if (figure.diagonal) out += "set size square\n";
    if (layout.x.zero)
      out += fmt::format(
          "# 0 has a place of its own; the axis is broken between it and the first value.\n"
          "set label 1 '//' at first {:.6g}, graph 0 center noenhanced front\n",
          std::sqrt(*layout.x.zero * layout.x.first));
  }
  out += "set border 3 lw 0.6\nset tics out scale 0.6\n";
  // At places of the page: gnuplot's own distances differ between its terminals, and its titles do not keep to the
  // page.
  const auto height = [&](double cm) { return cm / layout.height_cm; };
  if (!layout.title.empty())
    out += fmt::format("set label 2 {} at screen 0.5, screen {:.4f} center noenhanced\n", gnuplot_text(layout.title),
                       height(layout.height_cm - kLineCm * 0.6 - 0.05));
  if (!layout.x_label.empty())
    out += fmt::format("set label 3 {} at graph 0.5, screen {:.4f} center noenhanced\n", gnuplot_text(layout.x_label),
                       height(layout.x_label_cm));
  if (!layout.y_label.empty()) out += fmt::format("set ylabel {} noenhanced\n", gnuplot_text(layout.y_label));
  return out + "\n";
}

std::string margins(const Figure& figure, const FigureLayout& layout) {
  return fmt::format(
      "set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n{}\n",
      layout.below_cm / layout.height_cm, 1 - layout.above_cm / layout.height_cm, 1 - layout.right_cm / figure.width_cm,
      layout.left_cm > 0 ? fmt::format("set lmargin at screen {:.4f}\n", layout.left_cm / figure.width_cm) : "");
}

// gnuplot's own key guesses the width of its texts, and leaves the page where it guesses badly.
std::string legend(const Figure& figure, const FigureLayout& layout) {
  std::string out = "unset key\n";
  if (layout.legend.empty()) return out + "\n";
  out += "# The legend stands below the axes, where it covers nothing: for each entry its text and its sample.\n";
  for (std::size_t i = 0; i < layout.legend.size(); ++i) {
    const LegendEntry& entry = layout.legend[i];
    const auto x = [&](double cm) { return fmt::format("screen {:.4f}", (entry.x_cm + cm) / figure.width_cm); };
    const auto y = [&](double cm) { return fmt::format("screen {:.4f}", (entry.y_cm + cm) / layout.height_cm); };
    out += fmt::format("set label {} {} at {}, {} left noenhanced\n", 100 + i, gnuplot_text(entry.lines), x(kSampleCm),
                       y(0));
    const bool series = entry.series >= 0;
    const int style = series ? entry.series + 1 : 90;
    if (series && figure.kind == Kind::bars) {
      out += fmt::format(
          "set object {} rectangle from {}, {} to {}, {} fc ls {} fs solid 1 border lc rgb 'black' lw 0.5\n", 100 + i,
          x(0.45), y(-0.08), x(0.75), y(0.08), style);
      continue;
    }
    const bool line = series && figure.series[static_cast<std::size_t>(entry.series)].line;
    if (!series || line || figure.kind != Kind::scatter)
      out += fmt::format("set arrow {} from {}, {} to {}, {} nohead ls {}\n", 100 + i, x(0), y(0), x(0.8), y(0), style);
    if (series && !line) out += fmt::format("set label {} '' at {}, {} point ls {}\n", 200 + i, x(0.4), y(0), style);
  }
  return out + "\n";
}

std::string drawing(const Figure& figure, const FigureLayout& layout, const std::string& plot) {
  constexpr const char* text =
      R"(# Sizes in centimetres, the font in points at that size (gnuplot's own count 96 to the inch).
width = {width:.6g}
height = {height:.4g}
font = 'sans-serif'
points = {points:.3g}

do for [format in formats] {{
  if (format eq 'pdf') {{
    set terminal pdfcairo size width / 2.54, height / 2.54 font sprintf('%s,%g', font, points) fontscale 0.75 linewidth 1
  }}
  if (format eq 'svg') {{
    set terminal svg size width / 2.54 * 96, height / 2.54 * 96 font sprintf('%s,%g', font, points * 96 / 72) linewidth 1 background 'white'
  }}
  if (format eq 'png') {{
    set terminal pngcairo size width / 2.54 * 300, height / 2.54 * 300 font sprintf('%s,%g', font, points) fontscale 300. / 96 linewidth 3 pointscale 3
  }}
  set output '{name}.' . format
  {plot}  unset output
}}
)";
  return fmt::format(text, fmt::arg("width", figure.width_cm), fmt::arg("height", layout.height_cm),
                     fmt::arg("points", kFontPoints), fmt::arg("name", figure.name), fmt::arg("plot", plot));
}

}  // namespace

std::vector<std::string> wrapped_lines(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& word : words_of(text)) {
    if (lines.empty() || display_width(lines.back()) + 1 + display_width(word) > columns)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

std::string gnuplot_text(const std::vector<std::string>& lines) {
  // Between single quotes gnuplot takes everything as it stands; between double quotes it would run what is in
  // backquotes as a command. A single quote is a text of its own: gnuplot 5.4 stumbles over two doubled ones in a row.
  std::string out;
  for (const std::string& line : lines) {
    out += out.empty() ? "'" : ".\"\\n\".'";
    for (const char c : printable(line, line.size())) out += c == '\'' ? "'.\"'\".'" : std::string(1, c);
    out += "'";
  }
  return out.empty() ? "''" : out;
}

std::string figure_script(const Figure& figure) {
  check(figure);
  const FigureLayout layout = figure_layout(figure);
  std::string out = fmt::format(
      "# {0}.gp: makes {0}.pdf, {0}.svg and {0}.png from {0}.dat.\n"
      "# Change what you like and run `gnuplot {0}.gp` in this folder; with -e \"formats = 'pdf'\" it makes one "
      "alone.\n",
      figure.name);
  for (const std::string& note : figure_notes(figure)) out += "# " + note + "\n";
  out += "reset\nset encoding utf8\nset datafile separator \"\\t\"\n";
  out += fmt::format("if (!exists('formats')) formats = 'pdf svg png'\ndata = '{}.dat'\n\n", figure.name);
  const PlotText plot = plot_commands(figure, layout);
  return out + styles(figure) + axes(figure, layout) + margins(figure, layout) + legend(figure, layout) + plot.before +
         drawing(figure, layout, plot.command);
}

}  // namespace pandora
