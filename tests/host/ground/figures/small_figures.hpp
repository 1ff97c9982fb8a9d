// A figure of every kind, with all that it can have.
#pragma once

#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"

namespace pandora::test {

inline Series small_series(const std::string& label, double shift = 0) {
  return {.label = label,
          .x = {0, 10, 100, 1000},
          .y = {-1 + shift, 2 + shift, 4 + shift, 8 + shift},
          .low = {-2 + shift, -1 + shift, 3 + shift, 7 + shift},
          .high = {1 + shift, 3 + shift, 5 + shift, 9 + shift}};
}

inline Figure small_figure(Figure::Kind kind, const std::string& name) {
  Figure figure;
  figure.kind = kind;
  figure.name = name;
  figure.title = "Title of " + name;
  figure.x_label = "period t";
  figure.y_label = "regret ± 95%";
  figure.series = {small_series("DOW"), small_series("oracle", 0.5)};
  if (kind == Figure::Kind::scatter)
    for (Series& series : figure.series) {
      series.x_low = {-1, 9, 90, 900};
      series.x_high = {1, 11, 110, 1100};
    }
  if (kind == Figure::Kind::bars) {
    figure.categories = {"Gaussian", "uniform", "exponential", "10% more"};
    for (Series& series : figure.series) series.x.clear();
  }
  return figure;
}

inline std::vector<Figure> figures_of_every_kind() {
  using Kind = Figure::Kind;
  std::vector<Figure> figures;
  for (const auto& [kind, name] : {std::pair{Kind::lines, "lines"}, std::pair{Kind::line_points, "points"},
                                   std::pair{Kind::scatter, "scatter"}, std::pair{Kind::bars, "bars"}})
    for (const bool log : {false, true}) {
      Figure figure = small_figure(kind, name + std::string(log ? "_log" : ""));
      figure.log_y = log;
      figure.log_x = log && kind != Kind::bars;
      figure.diagonal = kind == Kind::scatter;
      figure.stacked = kind == Kind::bars && !log;
      figure.references = {{3, false, "target"}, {50, true, ""}};
      if (kind == Kind::bars) figure.references.pop_back();
      figures.push_back(figure);
    }
  Figure lying = small_figure(Kind::bars, "lying");
  for (std::string& category : lying.categories) category += ", a name that is too long to stand below a bar";
  figures.push_back(lying);
  return figures;
}

}  // namespace pandora::test
