// The oracle's three-parameter index grid (Section 6, "Computation of the oracle reservation indices").
#pragma once

#include <array>
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

  /// sigma(l, s~, cbar); arguments outside the range are extrapolated from the outermost cell.
  double operator()(double shift, double scale, double cost) const;

 private:
  struct Axis {
    int nodes;
    double first, step;
    double node(int i) const { return first + i * step; }
  };
  static Axis axis(int nodes, double least, double greatest);

  Axis shift_, scale_, root_cost_;
  std::vector<double> values_;
};

}  // namespace pandora
