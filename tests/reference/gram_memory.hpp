// One matrix with the arrays of a block, in the form in which the bodies of kernels/lane/ take them.
#pragma once

#include <algorithm>

#include "kernels/base/simd.hpp"
#include "kernels/lane/gram.hpp"
#include "kernels/products/vector_products.hpp"

namespace pandora::test {

/// P starts at the identity. Its layout is that for teams with vectors or without.
template <class Real>
struct GramMemory {
  engine::Shape shape;
  engine::StoredInverse<Real> stored;
  SimdVector<Real> P, image, gram, column, u, diagonal, row, psi, transposed, norm;
  std::vector<typename engine::GramView<Real>::Update> log;
  engine::GramCounts count{};
  engine::GramView<Real> view;

  GramMemory(int m, int B, bool vectors)
      : shape{.A = 1,
              .m = m,
              .stride = padded_to_vector<Real>(m),
              .d = 1,
              .B = B,
              .width = padded_to_vector<Real>(B),
              .capacity = 1},
        stored(shape, vectors) {
    const std::size_t rows = static_cast<std::size_t>(B), stride = static_cast<std::size_t>(shape.stride),
                      width = static_cast<std::size_t>(shape.width);
    P.assign(static_cast<std::size_t>(stored.size()), Real(0));
    for (int k = 0; k < m; ++k) P[static_cast<std::size_t>(stored.at(k, k))] = Real(1);
    for (SimdVector<Real>* array : {&image, &u, &psi}) array->assign(rows * stride, Real(0));
    for (SimdVector<Real>* array : {&gram, &column}) array->assign(rows * width, Real(0));
    for (SimdVector<Real>* array : {&diagonal, &row, &norm}) array->assign(width, Real(0));
    transposed.assign(static_cast<std::size_t>(m) * width, Real(0));
    log.resize(rows);
    view = {P.data(),        image.data(), gram.data(), column.data(), u.data(),
            diagonal.data(), row.data(),   log.data(),  &count};
  }
  GramMemory(const GramMemory&) = delete;

  Real inverse(int i, int k) const { return P[static_cast<std::size_t>(stored.at(i, k))]; }

  /// The block's n contexts: element k of context j is psi_of(j, k).
  template <class PsiOf>
  engine::BlockContexts<Real> contexts(int n, PsiOf&& psi_of) {
    std::fill(transposed.begin(), transposed.end(), Real(0));
    for (int j = 0; j < n; ++j) {
      norm[j] = Real(0);
      for (int k = 0; k < shape.m; ++k) {
        const Real value = static_cast<Real>(psi_of(j, k));
        psi[static_cast<std::size_t>(j) * shape.stride + k] =
            transposed[static_cast<std::size_t>(k) * shape.width + j] = value;
        norm[j] += value * value;
      }
    }
    engine::TapeView<Real> tape{};
    tape.psi = psi.data() - shape.stride;  // row 0 of a tape is x_0
    tape.transposed = transposed.data();
    tape.squared_norm = norm.data();
    return {tape, shape, {0, n}};
  }
};

/// Forms the images and the Gram matrix of the block's contexts under P, and calls start_gram.
template <class Real, class Team>
void form_gram(const Team& team, const engine::Shape& shape, const engine::GramView<Real>& g,
               const engine::BlockContexts<Real>& block) {
  form_products(team, shape, g, block);
  start_gram(team, shape, g, block.B);
}

}  // namespace pandora::test
