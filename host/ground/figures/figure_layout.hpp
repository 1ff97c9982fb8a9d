// Sizes of a figure, in the units of a page.
#pragma once

#include <string>
#include <vector>

#include "host/ground/figures/axis.hpp"
#include "host/ground/figures/figure.hpp"

namespace pandora {

constexpr double kFontPoints = 7.5;  ///< of all text, at the width that the figure has on paper
constexpr double kLineCm = 1.3 * kFontPoints * 2.54 / 72;

constexpr double kSampleCm = 0.95;  ///< of an entry of the legend: what stands left of its text

struct LegendEntry {
  std::vector<std::string> lines;
  int series = -1;            ///< none: a reference
  double x_cm = 0, y_cm = 0;  ///< of its left end and of the middle of its first line, from the lower left corner
};

struct FigureLayout {
  double height_cm = 0;                              ///< of the whole
  double below_cm = 0, above_cm = 0, right_cm = 0;   ///< from the axes to its edges
  double left_cm = 0;                                ///< the same; 0: as wide as the numbers are
  double x_label_cm = 0;                             ///< from the lower edge to its first line
  std::vector<std::string> title, x_label, y_label;  ///< lines
  std::vector<LegendEntry> legend;                   ///< series, references, then y = x
  double legend_cm = 0;                              ///< its height
  bool horizontal = false;                           ///< bars lie, categories stand one below the other
  std::vector<std::vector<std::string>> categories;  ///< lines of each
  Axis x, y;                                         ///< of bars: y alone, the axis of the values
};

FigureLayout figure_layout(const Figure& figure);

}  // namespace pandora
