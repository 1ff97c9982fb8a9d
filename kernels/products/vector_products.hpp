// The products of a block (products.hpp) on a CPU: register tiles. Host code only.
#pragma once

#include "kernels/base/vector_team.hpp"
#include "kernels/products/products.hpp"
#include "kernels/products/tiles.hpp"

namespace pandora::engine {

template <class Real>
void form_products(const VectorTeam&, const Shape& shape, const GramView<Real>& g, const BlockContexts<Real>& block) {
  form_images(g.P, shape.m, shape.stride, block.psi, block.transposed, block.B, shape.width, g.image);
  pandora::form_gram(g.image, shape.m, shape.stride, block.transposed, block.B, shape.width, g.gram);
}

template <class Real>
void predict(const VectorTeam&, const Shape& shape, const BlockContexts<Real>& block, const Real* v, Real* out) {
  project_block(block.transposed, shape.m, shape.width, v, out);
}

template <class Real>
void subtract_outer(const VectorTeam&, const Shape& shape, Real* P, const Real* u, int columns) {
  rank_update(P, shape.m, shape.stride, u, columns, UpdateSign::subtract);
}

}  // namespace pandora::engine
