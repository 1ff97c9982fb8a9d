#include "oracle/index_grid.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

namespace {

GridAxis axis(int nodes, double least, double greatest) {
  return {nodes, least, std::max(greatest - least, 1e-9) / (nodes - 1)};
}

}  // namespace

IndexGrid::IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost)
    : axes_{axis(shape.shift, shift.least, shift.greatest), axis(shape.scale, scale.least, scale.greatest),
            axis(shape.cost, std::sqrt(cost.least), std::sqrt(cost.greatest))} {
  values_.reserve(static_cast<std::size_t>(shape.shift) * shape.scale * shape.cost);
  IndexSolver solver(law);
  for (int i = 0; i < shape.shift; ++i)
    for (int j = 0; j < shape.scale; ++j) {
      solver.evaluate(axes_[0].node(i), axes_[1].node(j));
      for (int k = 0; k < shape.cost; ++k) {
        const double root = axes_[2].node(k);
        values_.push_back(solver.index(root * root));
      }
    }
}

double IndexGrid::operator()(double shift, double scale, double cost) const {
  const double coordinates[3] = {shift, scale, std::sqrt(cost)};
  std::size_t cell[3];
  double fraction[3];
  for (int k = 0; k < 3; ++k) {
    const double position = (coordinates[k] - axes_[k].first) / axes_[k].step;
    const int i = std::clamp(static_cast<int>(std::floor(position)), 0, axes_[k].nodes - 2);
    cell[k] = static_cast<std::size_t>(i);
    fraction[k] = position - i;
  }
  const std::size_t rows = static_cast<std::size_t>(axes_[1].nodes), columns = static_cast<std::size_t>(axes_[2].nodes);
  double value = 0.0;
  for (int corner = 0; corner < 8; ++corner) {
    const std::size_t i = cell[0] + (corner & 1), j = cell[1] + ((corner >> 1) & 1), k = cell[2] + (corner >> 2);
    const double weight = ((corner & 1) ? fraction[0] : 1 - fraction[0]) *
                          ((corner & 2) ? fraction[1] : 1 - fraction[1]) *
                          ((corner & 4) ? fraction[2] : 1 - fraction[2]);
    value += weight * values_[(i * rows + j) * columns + k];
  }
  return value;
}

}  // namespace pandora
