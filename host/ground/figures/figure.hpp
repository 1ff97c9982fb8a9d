// Figures as data: what is plotted. How it looks is decided where it is drawn (python/src/pandora/rendering).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pandora {

/// One curve, one set of markers, or one part of the bars. Vectors that are not empty have the length of y; a NaN is a
/// value that is missing.
struct Series {
  std::string label = {};        ///< in the legend; UTF-8
  std::vector<double> x = {};    ///< empty in bars, where the categories take its place
  std::vector<double> y = {};    ///< in bars: one per category
  std::vector<double> low = {};  ///< ends of the interval of y, such as 95%; empty: none
  std::vector<double> high = {};
  std::vector<double> x_low = {};  ///< ends of the interval of x; scatter alone
  std::vector<double> x_high = {};
  bool line = false;        ///< scatter alone: a line through the points in their order, in place of markers
  std::string policy = {};  ///< whose it is: a policy looks alike in all figures; empty: it looks as its place says
  std::string reward = {};  ///< that policy's setting: known, unknown or none
  std::vector<std::string> marks = {};  ///< a short text beside each marker, such as its number in a table
};

/// A line through the whole figure that no data stand behind, such as a target.
struct ReferenceLine {
  double at = 0;  ///< in the unit of the axis that it crosses
  bool vertical = false;
  std::string label = {};  ///< in the legend; empty: none
};

struct Figure {
  enum class Kind {
    lines,        ///< curves, their intervals as shaded bands
    line_points,  ///< few x: markers with error bars, joined by lines
    scatter,      ///< markers with error bars both ways, not joined, and lines
    bars          ///< a group of bars, or a stack of parts, per category
  };
  Kind kind = Kind::lines;
  std::string name;              ///< stem of its files: letters, digits, _ and -
  std::string title;             ///< above the axes; empty: none
  std::string x_label, y_label;  ///< quantity and unit; in bars, of the categories and of the values
  std::string x_key = {};        ///< the study's key that x is the value of; empty: none
  bool log_x = false, log_y = false;
  bool stacked = false;                      ///< bars: the series are parts of a whole
  bool diagonal = false;                     ///< scatter: the line y = x, and equal axes
  std::vector<std::string> categories = {};  ///< bars alone
  std::vector<Series> series;
  std::vector<ReferenceLine> references = {};
  std::string caption = {};  ///< below the figure in documents
  double width_cm = 8.5;     ///< 8.5: a column of a journal; 17: both
};

/// As many as can be told apart in grey.
constexpr std::size_t kMostCurves = 7, kMostMarkers = 15, kMostParts = 12;

/// Throws std::logic_error where a figure contradicts itself or has more series than can be told apart.
void check(const Figure& figure);

/// Whether positive values, 0 apart, lie so far apart that a logarithmic axis shows them better: a decade or more.
bool spans_a_decade(const std::vector<double>& values);

/// What a reader must know beside the caption, in whole sentences: what the axes cannot show, where x = 0 stands on a
/// logarithmic axis, that markers are set apart. Empty where there is nothing.
std::vector<std::string> figure_notes(const Figure& figure);

/// A row per point: the number of its series from 1 and its label, x or the category, y, and the ends of the intervals
/// where a series has any. All digits; nothing where a value is missing.
std::string figure_csv(const Figure& figure);

/// What is drawn, and how: `caption` with the notes of the figure, `spoken` for readers that do not see it. The numbers
/// of the series stand in it where `with_data`; a missing one is null.
nlohmann::json figure_json(const Figure& figure, bool with_data);

}  // namespace pandora
