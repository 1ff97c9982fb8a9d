#include "host/ground/figures/plot_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/figures/figure_columns.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;

class PlotCommand {
 public:
  PlotCommand(const Figure& figure, const FigureLayout& layout) : figure_(figure), layout_(layout), columns_(figure) {}

  PlotText text() {
    functions();
    references();
    for (std::size_t s = 0; s < figure_.series.size(); ++s) {
      if (figure_.kind == Kind::lines && !figure_.series[s].low.empty()) band(s);
      if (figure_.kind == Kind::bars) bars(s);
    }
    for (std::size_t s = 0; s < figure_.series.size(); ++s) {
      if (figure_.kind != Kind::lines) intervals(s);
      if (figure_.kind != Kind::bars) markers(s);
    }
    return {out_, "plot " + command_ + "\n"};
  }

 private:
  void add(const std::string& element) {
    if (!command_.empty()) command_ += ", \\\n       ";
    command_ += element;
  }

  void functions() {
    if (figure_.kind == Kind::bars) {
      if (figure_.log_y)
        out_ += fmt::format(
            "# A logarithmic axis has no 0: bars and intervals start at its edge.\n"
            "edge = {:.6g}\nclipped(y) = y > edge ? y : edge\nshown(y) = y > 0 ? y : NaN\n\n",
            layout_.y.low);
      return;
    }
    if (figure_.log_x && layout_.x.zero)
      out_ += fmt::format(
          "# Where x stands: 0 at a place of its own.\n"
          "zero = {:.6g}\nplace(x) = x > 0 ? x : x == 0 ? zero : NaN\n",
          *layout_.x.zero);
    else if (figure_.log_x)
      out_ += "# What is not positive cannot be shown.\nplace(x) = x > 0 ? x : NaN\n";
    if (figure_.log_x && columns_.x_low > 0)
      out_ += fmt::format("left_edge = {0:.6g}\nclipped_x(x) = x > left_edge ? x : left_edge\n", layout_.x.low);
    if (figure_.log_y)
      out_ += fmt::format(
          "# What is not positive cannot be shown; intervals that reach below the edge end there.\n"
          "edge = {:.6g}\nshown(y) = y > 0 ? y : NaN\nclipped(y) = y > edge ? y : edge\n",
          layout_.y.low);
    if (sets_apart(figure_)) {
      const double middle = 0.5 * static_cast<double>(figure_.series.size() - 1);
      // The whole group takes at most 6% of the axis.
      const double share = std::min(0.012, 0.06 / static_cast<double>(figure_.series.size()));
      if (figure_.log_x)
        out_ += fmt::format(
            "# Series k = 0, 1, ... slightly apart from its neighbours; 1 would put all at their x.\n"
            "factor = {:.6g}\napart(x, k) = x * factor ** (k - {:g})\n",
            std::pow(layout_.x.high / layout_.x.low, share), middle);
      else
        out_ += fmt::format(
            "# Series k = 0, 1, ... slightly apart from its neighbours; 0 would put all at their x.\n"
            "step = {:.6g}\napart(x, k) = x + step * (k - {:g})\n",
            share * (layout_.x.high - layout_.x.low), middle);
    }
    if (!out_.empty()) out_ += "\n";
  }

  void references() {
    const bool lying = layout_.horizontal;
    for (const ReferenceLine& line : figure_.references) {
      const std::string at = fmt::format("{:.10g}", line.at);
      out_ += line.vertical != lying ? fmt::format("set arrow from first {0}, graph 0 to first {0}, graph 1", at)
                                     : fmt::format("set arrow from graph 0, first {0} to graph 1, first {0}", at);
      out_ += " nohead ls 90 back\n";
    }
    if (!figure_.references.empty()) out_ += "\n";
    if (figure_.diagonal) add("x with lines ls 90");
  }

  std::string source(std::size_t s) const { return fmt::format("data index {} using ", s); }

  std::string x(std::size_t s) const {
    const std::string at = figure_.log_x ? "place($1)" : "$1";
    return sets_apart(figure_) ? fmt::format("(apart({}, {}))", at, s) : figure_.log_x ? "(" + at + ")" : "1";
  }
  std::string y(int column) const {
    return figure_.log_y ? fmt::format("(shown(${}))", column) : fmt::format("{}", column);
  }
  std::string end(int column) const {
    return figure_.log_y ? fmt::format("(clipped(${}))", column) : fmt::format("{}", column);
  }

  void band(std::size_t s) {
    const std::string low = end(columns_.low), high = end(columns_.low + 1);
    add(fmt::format("{}{}:{}:{} with filledcurves ls {} fs transparent solid 0.18 noborder", source(s), x(s), low, high,
                    s + 1));
  }

  // As vectors with caps: gnuplot's own error bars blank out a disc around their point.
  void intervals(std::size_t s) {
    const Series& series = figure_.series[s];
    const bool is_bar = figure_.kind == Kind::bars;
    const auto plain = [](const std::string& column) {
      return column.front() == '(' ? column.substr(1, column.size() - 2) : "$" + column;
    };
    // Nothing where the value itself is missing or cannot be shown.
    const std::string value = plain(y(is_bar ? 3 : 2));
    const auto vector = [&](const std::string& from, const std::string& to, const std::string& across, bool upright) {
      const std::string start = fmt::format("({} + 0 * {})", from, value), length = fmt::format("({} - {})", to, from);
      add(source(s) +
          (upright ? across + ":" + start + ":(0):" + length : start + ":" + across + ":" + length + ":(0)") +
          " with vectors heads size graph 0.008, 90 " +
          (is_bar ? "lc rgb 'black' lw 0.7" : fmt::format("ls {} lw 0.7 dt 1", s + 1)));
    };
    if (!series.low.empty()) {
      const std::string across = is_bar ? fmt::format("($1 + {:.4g})", bar_middle(s)) : x(s);
      vector(plain(end(columns_.low)), plain(end(columns_.low + 1)), across, !layout_.horizontal);
    }
    if (!series.x_low.empty()) {
      const auto x_end = [&](int column) { return fmt::format("{}(${})", figure_.log_x ? "clipped_x" : "", column); };
      vector(x_end(columns_.x_low), x_end(columns_.x_low + 1), y(2), false);
    }
  }

  void markers(std::size_t s) {
    const std::size_t points = figure_.series[s].y.size();
    std::string style = fmt::format("{} ls {}", figure_.series[s].line ? "lines" : "points", s + 1);
    if (figure_.kind == Kind::line_points || (figure_.kind == Kind::lines && points <= 1))
      style = fmt::format("linespoints ls {}", s + 1);
    else if (figure_.kind == Kind::lines)  // some ten markers per curve
      style = fmt::format("linespoints ls {} pointinterval {}", s + 1, std::max<std::size_t>(1, points / 7));
    add(fmt::format("{}{}:{} with {}", source(s), x(s), y(2), style));
  }

  double bar_width() const { return figure_.stacked ? 0.7 : 0.8 / static_cast<double>(figure_.series.size()); }
  double bar_middle(std::size_t s) const {
    return figure_.stacked
               ? 0
               : bar_width() * (static_cast<double>(s) - 0.5 * static_cast<double>(figure_.series.size() - 1));
  }

  void bars(std::size_t s) {
    const std::string left = fmt::format("($1 {:+.4g})", bar_middle(s) - bar_width() / 2);
    const std::string right = fmt::format("($1 {:+.4g})", bar_middle(s) + bar_width() / 2);
    const std::string foot = end(2), top = y(3);
    const std::string columns = layout_.horizontal ? fmt::format("{}:1:{}:{}:{}:{}", top, foot, top, left, right)
                                                   : fmt::format("1:{}:{}:{}:{}:{}", top, left, right, foot, top);
    add(fmt::format("{}{} with boxxyerror ls {} fs solid 1 border lc rgb 'black'", source(s), columns, s + 1));
  }

  const Figure& figure_;
  const FigureLayout& layout_;
  const FigureColumns columns_;
  std::string out_, command_;
};

}  // namespace

PlotText plot_commands(const Figure& figure, const FigureLayout& layout) {
  return PlotCommand(figure, layout).text();
}

}  // namespace pandora
