// The oracle's three-parameter index grid (Section 6, "Computation of the oracle reservation indices").
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "oracle/reservation_index.hpp"

namespace pandora {

/// Nodes along l, the scale s~ and cbar; each at least 2.
struct GridShape {
  int shift = 61;
  int scale = 21;
  int cost = 61;
};

/// A closed interval that grows to hold what it is given.
struct Range {
  double least = 0.0, greatest = 0.0;
  void include(double value) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
  static Range of(double value) { return {value, value}; }
};

/// sigma at the nodes, interpolated trilinearly in (l, s~, sqrt(cbar)). Nodes in sqrt(cbar) serve small costs,
/// where d sigma / d cbar = -1 / P(G > sigma) is steep.
class IndexGrid {
 public:
  /// Solves sigma exactly for `law` at every node of shape over the given ranges (cbar > 0).
  IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost);
  /// The same from its data: axes in l, s~ and sqrt(cbar), values in that order with the last axis running fastest.
  IndexGrid(const std::array<GridAxis, 3>& axes, std::vector<double> values)
      : axes_(axes), values_(std::move(values)) {}

  /// sigma(l, s~, cbar); arguments outside the range are extrapolated from the outermost cell.
  double operator()(double shift, double scale, double cost) const {
    return interpolate_index(axes_.data(), values_.data(), shift, scale, cost);
  }

  const std::array<GridAxis, 3>& axes() const { return axes_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::array<GridAxis, 3> axes_;
  std::vector<double> values_;
};

}  // namespace pandora
