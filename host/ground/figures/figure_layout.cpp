#include "host/ground/figures/figure_layout.hpp"

#include <algorithm>
#include <cmath>

#include "host/ground/figures/gnuplot_script.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;

// Of the sans-serif fonts that gnuplot finds on its usual machines, the widest (DejaVu Sans).
constexpr double kCharacterCm = 0.57 * kFontPoints * 2.54 / 72;

std::size_t characters(double cm) {
  return static_cast<std::size_t>(std::max(8., cm / kCharacterCm));
}

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_width(line));
  return width;
}

std::size_t widest(const std::vector<std::vector<std::string>>& texts) {
  std::size_t width = 0;
  for (const auto& lines : texts) width = std::max(width, widest(lines));
  return width;
}

std::size_t most_lines(const std::vector<std::vector<std::string>>& texts) {
  std::size_t most = 1;
  for (const auto& lines : texts) most = std::max(most, lines.size());
  return most;
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

AxisContent values_of_bars(const Figure& figure) {
  AxisContent content;
  content.log = figure.log_y;
  content.from_zero = !figure.log_y;
  std::vector<double> feet(figure.categories.size(), 0.);
  for (const Series& series : figure.series)
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      content.values.push_back(feet[i] + series.y[i]);
      if (!series.low.empty()) {
        content.ends.push_back(feet[i] + series.low[i]);
        content.ends.push_back(feet[i] + series.high[i]);
      }
      if (figure.stacked && std::isfinite(series.y[i])) feet[i] += series.y[i];
    }
  return content;
}

void lay_out_axes(const Figure& figure, FigureLayout& layout, int x_numbers, int y_numbers) {
  AxisContent x, y;
  if (figure.kind == Kind::bars) y = values_of_bars(figure);
  for (const Series& series : figure.series) {
    if (figure.kind == Kind::bars) break;
    append(x.values, series.x);
    append(y.values, series.y);
    append(x.ends, series.x_low);
    append(x.ends, series.x_high);
    append(y.ends, series.low);
    append(y.ends, series.high);
    for (const double value : series.x) x.place_zero |= figure.log_x && value == 0;
  }
  for (const ReferenceLine& line : figure.references) (line.vertical ? x : y).values.push_back(line.at);
  x.log = figure.log_x;
  y.log = figure.log_y;
  x.tight = figure.kind == Kind::lines;
  if (figure.diagonal) {
    append(x.values, y.values);
    append(x.ends, y.ends);
    x.place_zero = false;
    y = x;
  }
  layout.x = make_axis(x, x_numbers);
  layout.y = make_axis(y, y_numbers);
}

// In as many columns as fit; texts are broken only where not even one column does.
void lay_out_legend(const Figure& figure, FigureLayout& layout) {
  const double edge_cm = 0.15, gap_cm = 0.35, room_cm = figure.width_cm - 2 * edge_cm;
  const auto enter = [&](const std::string& text, int series) {
    if (!text.empty()) layout.legend.push_back({wrapped_lines(text, characters(room_cm - kSampleCm)), series});
  };
  for (std::size_t s = 0; s < figure.series.size(); ++s) enter(figure.series[s].label, static_cast<int>(s));
  for (const ReferenceLine& line : figure.references) enter(line.label, -1);
  if (figure.diagonal) enter("y = x", -1);
  if (layout.legend.empty()) return;
  std::size_t width = 0, lines = 0;
  for (const LegendEntry& entry : layout.legend) {
    width = std::max(width, widest(entry.lines));
    lines += entry.lines.size();
  }
  const double entry_cm = static_cast<double>(width) * kCharacterCm + kSampleCm;
  const std::size_t count = layout.legend.size();
  std::size_t columns = 1, rows = lines;
  if (lines == count) {
    columns = std::clamp<std::size_t>(static_cast<std::size_t>((room_cm + gap_cm) / (entry_cm + gap_cm)), 1, count);
    rows = (count + columns - 1) / columns;
    columns = (count + rows - 1) / rows;
  }
  const double pitch_cm = 1.08 * kLineCm;
  layout.legend_cm = pitch_cm * static_cast<double>(rows);
  const double all_cm = static_cast<double>(columns) * (entry_cm + gap_cm) - gap_cm;
  std::size_t line = 0;
  for (std::size_t i = 0; i < count; ++i) {
    LegendEntry& entry = layout.legend[i];
    entry.x_cm =
        std::max(edge_cm, (figure.width_cm - all_cm) / 2) + static_cast<double>(i / rows) * (entry_cm + gap_cm);
    entry.y_cm = 0.1 + layout.legend_cm - pitch_cm * (static_cast<double>(columns > 1 ? i % rows : line) + 0.5);
    line += entry.lines.size();
  }
}

// Categories below the bars where their names fit there, else bars that lie with the names at their left.
double lay_out_categories(const Figure& figure, FigureLayout& layout, double axes_cm) {
  const double per_category = (figure.width_cm - 1.6) / static_cast<double>(figure.categories.size());
  const auto wrap = [&](std::size_t columns) {
    layout.categories.clear();
    for (const std::string& category : figure.categories) layout.categories.push_back(wrapped_lines(category, columns));
  };
  const auto fitting = static_cast<std::size_t>(per_category / kCharacterCm);
  if (fitting >= 3) {
    wrap(fitting);
    if (widest(layout.categories) <= fitting && most_lines(layout.categories) <= 3) return axes_cm;
  }
  layout.horizontal = true;
  wrap(characters(0.45 * figure.width_cm));
  layout.left_cm = static_cast<double>(widest(layout.categories)) * kCharacterCm + 0.3;
  const double bars = figure.stacked ? 1 : static_cast<double>(figure.series.size());
  const double lines = static_cast<double>(most_lines(layout.categories));
  return static_cast<double>(figure.categories.size()) * std::max(kLineCm * lines + 0.12, 0.22 * bars + 0.16);
}

}  // namespace

FigureLayout figure_layout(const Figure& figure) {
  FigureLayout layout;
  const double inner_cm = figure.width_cm - 1.6;  // between the numbers at the left and the right edge
  double axes_cm = std::min(0.62 * inner_cm, 7.);
  if (figure.diagonal) axes_cm = std::min(inner_cm, 8.);
  if (figure.kind == Kind::bars) axes_cm = lay_out_categories(figure, layout, axes_cm);
  layout.title = wrapped_lines(figure.title, characters(figure.width_cm - 0.3));
  layout.right_cm = 0.55;
  if (layout.horizontal) {
    // The categories name themselves.
    const double across_cm = figure.width_cm - layout.left_cm - layout.right_cm;
    layout.x_label = wrapped_lines(figure.y_label, characters(across_cm));
    lay_out_axes(figure, layout, 2, std::max(static_cast<int>(across_cm / 0.9), 5));
  } else {
    layout.x_label = wrapped_lines(figure.x_label, characters(inner_cm));
    layout.y_label = wrapped_lines(figure.y_label, characters(axes_cm));
    lay_out_axes(figure, layout, std::max(static_cast<int>(inner_cm / 1.15), 3),
                 std::clamp(static_cast<int>(axes_cm / 0.6), 3, 7));
  }
  if (figure.diagonal) {  // one kind of ticks on both
    layout.x.ticks = layout.y.ticks;
  }
  lay_out_legend(figure, layout);
  const double numbers =
      layout.horizontal || figure.kind != Kind::bars ? 1 : static_cast<double>(most_lines(layout.categories));
  layout.below_cm = kLineCm * (numbers + static_cast<double>(layout.x_label.size()) + 1.2) + layout.legend_cm + 0.1;
  layout.x_label_cm = layout.below_cm - kLineCm * (numbers + 1.35);
  layout.above_cm = kLineCm * static_cast<double>(layout.title.size()) + 0.25;
  layout.height_cm = layout.below_cm + axes_cm + layout.above_cm;
  return layout;
}

}  // namespace pandora
