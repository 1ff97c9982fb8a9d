#include "oracle/index_grid.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

IndexGrid::Axis IndexGrid::axis(int nodes, double least, double greatest) {
  return {nodes, least, std::max(greatest - least, 1e-9) / (nodes - 1)};
}

IndexGrid::IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost)
    : shift_(axis(shape.shift, shift.least, shift.greatest)),
      scale_(axis(shape.scale, scale.least, scale.greatest)),
      root_cost_(axis(shape.cost, std::sqrt(cost.least), std::sqrt(cost.greatest))) {
  values_.reserve(static_cast<std::size_t>(shape.shift) * shape.scale * shape.cost);
  IndexSolver solver(law);
  for (int i = 0; i < shift_.nodes; ++i)
    for (int j = 0; j < scale_.nodes; ++j) {
      solver.evaluate(shift_.node(i), scale_.node(j));
      for (int k = 0; k < root_cost_.nodes; ++k) {
        const double root = root_cost_.node(k);
        values_.push_back(solver.index(root * root));
      }
    }
}

double IndexGrid::operator()(double shift, double scale, double cost) const {
  const double coordinates[3] = {shift, scale, std::sqrt(cost)};
  const Axis* axes[3] = {&shift_, &scale_, &root_cost_};
  std::size_t cell[3];
  double fraction[3];
  for (int k = 0; k < 3; ++k) {
    const double position = (coordinates[k] - axes[k]->first) / axes[k]->step;
    const int i = std::clamp(static_cast<int>(std::floor(position)), 0, axes[k]->nodes - 2);
    cell[k] = static_cast<std::size_t>(i);
    fraction[k] = position - i;
  }
  const std::size_t rows = static_cast<std::size_t>(scale_.nodes), columns = static_cast<std::size_t>(root_cost_.nodes);
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
