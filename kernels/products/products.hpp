// The matrix products of a block by a team: images and Gram matrix, predictions, and the application of updates.
// VectorTeam uses the register tiles of tiles.hpp, through vector_products.hpp, with P in full. A block of threads uses
// tiles in its shared memory (tiled_products.hpp) and the lower triangle of P, up to about m = 176. For larger m a
// library forms all matrices of a block at once (kernels/cuda/); a single matrix is formed anew by the functions here,
// element by element.
#pragma once

#include "kernels/products/product_memory.hpp"

namespace pandora::engine {

/// P psi(r) for r < count, contexts of any period, to rows of `out`.
template <class Real, class Team, class Psi>
PANDORA_HD void form_images_of(const Team& team, const Shape& shape, const Real* P, int count, Psi&& psi, Real* out) {
  static_assert(!Team::kVectors, "include kernels/products/vector_products.hpp");
  const StoredInverse<Real> stored(shape, Team::kVectors);
  const int m = shape.m, stride = shape.stride;
  for (int at = team.rank(); at < count * stride; at += team.size()) {
    const Real* x = psi(at / stride);
    const int k = at % stride;
    Real sum = 0;
    for (int l = 0; l < m && k < m; ++l) sum = fused(P[stored.at(l, k)], x[l], sum);
    out[at] = sum;
  }
  team.sync();
}

/// image_j = P psi_j and gram(j, i) = psi_i' image_j for i >= j.
template <class Real, class Team>
PANDORA_HD void form_products(const Team& team, const Shape& shape, const GramView<Real>& g,
                              const BlockContexts<Real>& block) {
  static_assert(!Team::kVectors, "include kernels/products/vector_products.hpp");
  const int m = shape.m, stride = shape.stride, B = block.B;
  form_images_of(
      team, shape, g.P, B, [&](int j) { return block.psi + j * block.stride; }, g.image);
  for (int at = team.rank(); at < B * B; at += team.size()) {
    const int j = at / B, i = at % B;
    if (i < j) continue;
    Real sum = 0;
    for (int k = 0; k < m; ++k) sum = fused(g.image[j * stride + k], block.psi[i * block.stride + k], sum);
    g.gram[j * shape.width + i] = sum;
  }
  team.sync();
}

/// form_products for callers that read only the diagonal of the Gram matrix.
template <class Real, class Team>
PANDORA_HD void form_widths(const Team& team, const Shape& shape, const GramView<Real>& g,
                            const BlockContexts<Real>& block) {
  form_products(team, shape, g, block);
}

/// out_j = psi_j' v for the block's contexts.
template <class Real, class Team>
PANDORA_HD void predict(const Team& team, const Shape& shape, const BlockContexts<Real>& block, const Real* v,
                        Real* out) {
  static_assert(!Team::kVectors, "include kernels/products/vector_products.hpp");
  for (int j = team.rank(); j < block.B; j += team.size()) {
    Real sum = 0;
    for (int k = 0; k < shape.m; ++k) sum = fused(block.psi[j * block.stride + k], v[k], sum);
    out[j] = sum;
  }
  team.sync();
}

/// The same for `rows` vectors of `stride` elements; the results go to rows of `width`.
template <class Real, class Team>
PANDORA_HD void predict_rows(const Team& team, const Shape& shape, const BlockContexts<Real>& block, const Real* v,
                             int rows, Real* out) {
  for (int r = 0; r < rows; ++r) predict(team, shape, block, v + r * shape.stride, out + r * shape.width);
}

/// x' y over n elements in whole vectors V. Each member that calls it computes the whole product.
template <class V, class Real>
PANDORA_HD Real padded_product(const Real* x, const Real* y, int n) {
  typename V::Vector even{}, odd{};
  int i = 0;
  for (; i + 2 * V::width <= n; i += 2 * V::width) {
    even = V::fused(V::load(x + i), V::load(y + i), even);
    odd = V::fused(V::load(x + i + V::width), V::load(y + i + V::width), odd);
  }
  if (i < n) even = V::fused(V::load(x + i), V::load(y + i), even);
  return V::sum(even + odd);
}

/// P -= sum_q u_q u_q' over q vectors of `stride` elements, in tiles of T x T. P stays exactly symmetric: both elements
/// of a pair see the same products in the same order.
template <class Real, class Team>
PANDORA_HD void subtract_outer(const Team& team, const Shape& shape, Real* P, const Real* u, int columns) {
  static_assert(!Team::kVectors, "include kernels/products/vector_products.hpp");
  const StoredInverse<Real> stored(shape, Team::kVectors);
  constexpr int T = 4;
  const int m = shape.m;
  for (int square = team.rank(); square < stored.squares(); square += team.size()) {
    const auto at = stored.square(square);
    Real sum[T][T];
    for (int r = 0; r < T; ++r)
      for (int c = 0; c < T; ++c) sum[r][c] = at.i + r < m ? P[at.first + r * at.step + c] : Real(0);
    for (int q = 0; q < columns; ++q) {
      const Real* uq = u + q * shape.stride;
      Real a[T], b[T];
      for (int r = 0; r < T; ++r) {
        a[r] = uq[at.i + r];
        b[r] = uq[at.k + r];
      }
      for (int r = 0; r < T; ++r)
        for (int c = 0; c < T; ++c) sum[r][c] = fused(-a[r], b[c], sum[r][c]);
    }
    // Columns from m on hold zeros and stay zero, because u is zero there.
    for (int r = 0; r < T && at.i + r < m; ++r)
      for (int c = 0; c < T; ++c) P[at.first + r * at.step + c] = sum[r][c];
  }
  team.sync();
}

}  // namespace pandora::engine
