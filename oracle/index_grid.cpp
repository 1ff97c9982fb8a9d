#include "oracle/index_grid.hpp"

#include <cmath>

namespace pandora {

IndexGrid::IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost)
    : axes_{GridAxis::over(shape.shift, shift.least, shift.greatest),
            GridAxis::over(shape.scale, scale.least, scale.greatest),
            GridAxis::over(shape.cost, std::sqrt(cost.least), std::sqrt(cost.greatest))} {
  values_.reserve(static_cast<std::size_t>(shape.shift) * shape.scale * shape.cost);
  ReservationSolver solver(law);
  for (int i = 0; i < shape.shift; ++i)
    for (int j = 0; j < shape.scale; ++j) {
      solver.evaluate(axes_[0].node(i), axes_[1].node(j));
      for (int k = 0; k < shape.cost; ++k) {
        const double root = axes_[2].node(k);
        values_.push_back(solver.index(root * root));
      }
    }
}

}  // namespace pandora
