// Products with a block's contexts, feature by feature (tiles.hpp): the Gram matrix and projections.
#include "kernels/base/assert.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/products/tiles.hpp"

namespace pandora {
namespace {

template <class Real, int R, int NV>
inline void gram_tile(const Real* image, int m, int stride, const Real* transposed, int width, Real* gram) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV] = {};
  for (int k = 0; k < m; ++k) {
    typename S::Vector column[NV];
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) column[v] = S::load(row_of(transposed, k, width) + v * S::width);
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename S::Vector weight = S::broadcast(image[static_cast<std::size_t>(r) * stride + k]);
      PANDORA_UNROLL
      for (int v = 0; v < NV; ++v) sum[r][v] = S::fused(weight, column[v], sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(row_of(gram, r, width) + v * S::width, sum[r][v]);
}

template <class Real, int NV>
inline void gram_rows(const Real* image, int m, int stride, const Real* transposed, int rows, int width, Real* gram) {
  constexpr int R = (NV == 1 ? 16 : 8) * kRegisters / 32;
  int j = 0;
  for (; j + R <= rows; j += R)
    gram_tile<Real, R, NV>(row_of(image, j, stride), m, stride, transposed, width, row_of(gram, j, width));
  for (; j < rows; ++j)
    gram_tile<Real, 1, NV>(row_of(image, j, stride), m, stride, transposed, width, row_of(gram, j, width));
}

// NV vectors of a block's contexts times v, side by side, so that the products overlap in time.
template <class Real, int NV>
inline void project_columns(const Real* transposed, int m, int width, const Real* v, Real* out) {
  using S = Simd<Real>;
  typename S::Vector sum[2][NV] = {};
  const auto add = [&](int k, int to) {
    const typename S::Vector weight = S::broadcast(v[k]);
    const Real* const row = transposed + static_cast<std::size_t>(k) * width;
    PANDORA_UNROLL
    for (int n = 0; n < NV; ++n) sum[to][n] = S::fused(weight, S::load(row + n * S::width), sum[to][n]);
  };
  int k = 0;
  for (; k + 2 <= m; k += 2) {
    add(k, 0);
    add(k + 1, 1);
  }
  if (k < m) add(k, 0);
  PANDORA_UNROLL
  for (int n = 0; n < NV; ++n) S::store(out + n * S::width, sum[0][n] + sum[1][n]);
}

}  // namespace

template <class Real>
void form_gram(const Real* image, int m, int stride, const Real* transposed, int B, int width, Real* gram) {
  constexpr int W = Simd<Real>::width;
  PANDORA_ASSERT(B <= width && width % W == 0);
  for (int first = 0; first < B; first += W) {  // rows first .. first + W - 1 need the columns from `first` on
    const int rows = B - first < W ? B - first : W;
    const Real* const rows_image = row_of(image, first, stride);
    Real* const rows_gram = row_of(gram, first, width);
    int column = first;
    for (; column + 2 * W <= width; column += 2 * W)
      gram_rows<Real, 2>(rows_image, m, stride, transposed + column, rows, width, rows_gram + column);
    if (column < width) gram_rows<Real, 1>(rows_image, m, stride, transposed + column, rows, width, rows_gram + column);
  }
}

template <class Real>
void project_rows(const Real* transposed, int m, int stride, int width, const Real* v, int rows, Real* out) {
  constexpr int W = Simd<Real>::width;
  int column = 0;
  for (; column + 2 * W <= width; column += 2 * W)
    gram_rows<Real, 2>(v, m, stride, transposed + column, rows, width, out + column);
  if (column < width) gram_rows<Real, 1>(v, m, stride, transposed + column, rows, width, out + column);
}

template <class Real>
void project_block(const Real* transposed, int m, int width, const Real* v, Real* out) {
  constexpr int W = Simd<Real>::width;
  int first = 0;
  for (; first + 2 * W <= width; first += 2 * W) project_columns<Real, 2>(transposed + first, m, width, v, out + first);
  if (first < width) project_columns<Real, 1>(transposed + first, m, width, v, out + first);
}

#define PANDORA_INSTANTIATE(Real)                                                     \
  template void form_gram<Real>(const Real*, int, int, const Real*, int, int, Real*); \
  template void project_block<Real>(const Real*, int, int, const Real*, Real*);       \
  template void project_rows<Real>(const Real*, int, int, int, const Real*, int, Real*);
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
