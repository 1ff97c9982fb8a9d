// Looking into figures.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "host/report/report.hpp"

namespace pandora::test {

inline std::vector<std::string> figure_names(const std::vector<FigureGroup>& groups) {
  std::vector<std::string> out;
  for (const FigureGroup& group : groups)
    for (const Figure& figure : group.figures) out.push_back(figure.name);
  return out;
}

/// The figure of that name; an empty one, and a failure, if there is none.
inline Figure figure_named(const std::vector<FigureGroup>& groups, const std::string& name) {
  for (const FigureGroup& group : groups)
    for (const Figure& figure : group.figures)
      if (figure.name == name) return figure;
  ADD_FAILURE() << "no figure " << name << " among " << testing::PrintToString(figure_names(groups));
  return {};
}

inline std::vector<std::string> labels(const Figure& figure) {
  std::vector<std::string> out;
  for (const Series& series : figure.series) out.push_back(series.label);
  return out;
}

/// The series of that label; an empty one, and a failure, if there is none.
inline Series series_named(const Figure& figure, const std::string& label) {
  for (const Series& series : figure.series)
    if (series.label == label) return series;
  ADD_FAILURE() << "no series " << label << " among " << testing::PrintToString(labels(figure));
  return {};
}

}  // namespace pandora::test
