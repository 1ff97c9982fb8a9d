// Where what stands in NAME.dat, which the data and the script must agree on.
#pragma once

#include <algorithm>

#include "host/ground/figures/figure.hpp"

namespace pandora {

/// Numbers of columns from 1; 0: no series has such an interval. The upper end stands right of the lower.
struct FigureColumns {
  int low = 0, x_low = 0;

  explicit FigureColumns(const Figure& figure) {
    const auto any = [&](std::vector<double> Series::*ends) {
      return std::any_of(figure.series.begin(), figure.series.end(),
                         [&](const Series& s) { return !(s.*ends).empty(); });
    };
    int next = figure.kind == Figure::Kind::bars ? 4 : 3;
    if (any(&Series::low)) {
      low = next;
      next += 2;
    }
    if (any(&Series::x_low)) x_low = next;
  }
};

}  // namespace pandora
