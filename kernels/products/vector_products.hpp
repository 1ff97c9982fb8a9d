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

/// Images, and of the Gram matrix the diagonal alone.
template <class Real>
void form_widths(const VectorTeam&, const Shape& shape, const GramView<Real>& g, const BlockContexts<Real>& block) {
  form_images(g.P, shape.m, shape.stride, block.psi, block.transposed, block.B, shape.width, g.image);
  for (int j = 0; j < block.B; ++j)
    g.gram[j * shape.width + j] = padded_dot(g.image + j * shape.stride, block.psi + j * block.stride, shape.stride);
}

template <class Real, class Psi>
void form_images_of(const VectorTeam&, const Shape& shape, const Real* P, int count, Psi&& psi, Real* out) {
  constexpr int kAtOnce = 24;
  const Real* x[kAtOnce];
  for (int first = 0; first < count; first += kAtOnce) {
    const int n = count - first < kAtOnce ? count - first : kAtOnce;
    for (int r = 0; r < n; ++r) x[r] = psi(first + r);
    form_images(P, shape.m, shape.stride, x, n, out + first * shape.stride);
  }
}

template <class Real>
void predict(const VectorTeam&, const Shape& shape, const BlockContexts<Real>& block, const Real* v, Real* out) {
  project_block(block.transposed, shape.m, shape.width, v, out);
}

template <class Real>
void predict_rows(const VectorTeam&, const Shape& shape, const BlockContexts<Real>& block, const Real* v, int rows,
                  Real* out) {
  project_rows(block.transposed, shape.m, shape.stride, shape.width, v, rows, out);
}

template <class Real>
void subtract_outer(const VectorTeam&, const Shape& shape, Real* P, const Real* u, int columns) {
  rank_update(P, shape.m, shape.stride, u, columns, UpdateSign::subtract);
}

}  // namespace pandora::engine
