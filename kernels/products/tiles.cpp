#include "kernels/products/tiles.hpp"

#include <utility>

#include "kernels/base/assert.hpp"
#include "kernels/base/simd.hpp"

namespace pandora {
namespace {

// R x NV tiles of accumulators stay in registers: 24 of 32 for R = 6, NV = 4.
template <class Real, int R, int NV>
inline void image_tile(const Real* P, int m, int stride, const Real* const* psi, Real* image) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV] = {};
  for (int l = 0; l < m; ++l) {
    const Real* row = P + static_cast<std::size_t>(l) * stride;
    typename S::Vector weight[R];
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) weight[r] = S::broadcast(psi[r][l]);
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) {
      const typename S::Vector column = S::load(row + v * S::width);
      PANDORA_UNROLL
      for (int r = 0; r < R; ++r) sum[r][v] = S::fused(weight[r], column, sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(image + static_cast<std::size_t>(r) * stride + v * S::width, sum[r][v]);
}

template <class Real, int NV>
inline void image_columns(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image) {
  constexpr int R = 6;
  int j = 0;
  for (; j + R <= B; j += R)
    image_tile<Real, R, NV>(P, m, stride, psi + j, image + static_cast<std::size_t>(j) * stride);
  for (; j + 2 <= B; j += 2)
    image_tile<Real, 2, NV>(P, m, stride, psi + j, image + static_cast<std::size_t>(j) * stride);
  for (; j < B; ++j) image_tile<Real, 1, NV>(P, m, stride, psi + j, image + static_cast<std::size_t>(j) * stride);
}

template <class Real, int R, int NV>
inline void gram_tile(const Real* image, int m, int stride, const Real* transposed, int width, Real* gram) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV] = {};
  for (int k = 0; k < m; ++k) {
    typename S::Vector column[NV];
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) column[v] = S::load(transposed + static_cast<std::size_t>(k) * width + v * S::width);
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename S::Vector weight = S::broadcast(image[static_cast<std::size_t>(r) * stride + k]);
      PANDORA_UNROLL
      for (int v = 0; v < NV; ++v) sum[r][v] = S::fused(weight, column[v], sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(gram + static_cast<std::size_t>(r) * width + v * S::width, sum[r][v]);
}

template <class Real, int NV>
inline void gram_rows(const Real* image, int m, int stride, const Real* transposed, int rows, int width, Real* gram) {
  constexpr int R = NV == 1 ? 16 : 8;
  int j = 0;
  for (; j + R <= rows; j += R)
    gram_tile<Real, R, NV>(image + static_cast<std::size_t>(j) * stride, m, stride, transposed, width,
                           gram + static_cast<std::size_t>(j) * width);
  for (; j < rows; ++j)
    gram_tile<Real, 1, NV>(image + static_cast<std::size_t>(j) * stride, m, stride, transposed, width,
                           gram + static_cast<std::size_t>(j) * width);
}

template <class Real, int Sign, int R, int NV>
inline void update_tile(Real* P, int row, int column, int stride, const Real* u, int q) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV];
  Real* const tile = P + static_cast<std::size_t>(row) * stride + column;
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) sum[r][v] = S::load(tile + static_cast<std::size_t>(r) * stride + v * S::width);
  for (int k = 0; k < q; ++k) {
    const Real* uk = u + static_cast<std::size_t>(k) * stride;
    typename S::Vector weight[R];
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) weight[r] = S::broadcast(uk[row + r]);
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) {
      const typename S::Vector part = S::load(uk + column + v * S::width);
      PANDORA_UNROLL
      for (int r = 0; r < R; ++r)
        sum[r][v] = Sign > 0 ? S::fused(weight[r], part, sum[r][v]) : S::fused_negative(weight[r], part, sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(tile + static_cast<std::size_t>(r) * stride + v * S::width, sum[r][v]);
}

// `rows` rows of NV vectors; R rows at a time stay in registers, 24 of 32 for NV = 3.
template <class Real, int Sign, int NV>
inline void update_rows(Real* P, int row, int rows, int column, int stride, const Real* u, int q) {
  constexpr int R = NV == 4 ? 6 : 8;
  const int end = row + rows;
  for (; row + R <= end; row += R) update_tile<Real, Sign, R, NV>(P, row, column, stride, u, q);
  for (; row + 4 <= end; row += 4) update_tile<Real, Sign, 4, NV>(P, row, column, stride, u, q);
  for (; row < end; ++row) update_tile<Real, Sign, 1, NV>(P, row, column, stride, u, q);
}

// The upper triangle in whole vectors: rows first .. first + W - 1 from column `first` on.
template <class Real, int Sign>
void update_upper(Real* P, int m, int stride, const Real* u, int q) {
  constexpr int W = Simd<Real>::width;
  for (int first = 0; first < m; first += W) {
    const int rows = m - first < W ? m - first : W;
    int column = first;
    for (int left = (stride - first) / W; left > 0;) {
      const int take = left == 4 || left == 7 ? 4 : left == 2 || left == 5 ? 2 : left == 1 ? 1 : 3;
      switch (take) {
        case 4:
          update_rows<Real, Sign, 4>(P, first, rows, column, stride, u, q);
          break;
        case 3:
          update_rows<Real, Sign, 3>(P, first, rows, column, stride, u, q);
          break;
        case 2:
          update_rows<Real, Sign, 2>(P, first, rows, column, stride, u, q);
          break;
        default:
          update_rows<Real, Sign, 1>(P, first, rows, column, stride, u, q);
      }
      column += take * W;
      left -= take;
    }
  }
}

// One stage of a transposition in registers: blocks of By change places across the diagonal.
template <class Real, int By, int... I>
inline void exchange(typename Simd<Real>::Vector& a, typename Simd<Real>::Vector& b, std::integer_sequence<int, I...>) {
  constexpr int W = Simd<Real>::width;
  const auto upper = __builtin_shufflevector(a, b, ((I & By) == 0 ? I : I - By + W)...);
  b = __builtin_shufflevector(a, b, ((I & By) == 0 ? I + By : I + W)...);
  a = upper;
}

template <class Real, int By>
inline void transpose(typename Simd<Real>::Vector* rows) {
  constexpr int W = Simd<Real>::width;
  PANDORA_UNROLL
  for (int i = 0; i < W; ++i)
    if ((i & By) == 0) exchange<Real, By>(rows[i], rows[i + By], std::make_integer_sequence<int, W>{});
  if constexpr (By > 1) transpose<Real, By / 2>(rows);
}

// Copies the upper triangle onto the lower one; the squares on the diagonal are symmetric already.
template <class Real>
void mirror(Real* P, int m, int stride) {
  using S = Simd<Real>;
  constexpr int W = S::width;
  for (int row = 0; row + W < m; row += W)
    for (int column = row + W; column < m; column += W) {
      typename S::Vector square[W];
      PANDORA_UNROLL
      for (int r = 0; r < W; ++r) square[r] = S::load(P + static_cast<std::size_t>(row + r) * stride + column);
      transpose<Real, W / 2>(square);
      Real* const out = P + static_cast<std::size_t>(column) * stride + row;
      if (column + W <= m) {
        PANDORA_UNROLL
        for (int r = 0; r < W; ++r) S::store(out + static_cast<std::size_t>(r) * stride, square[r]);
      } else {
        PANDORA_UNROLL
        for (int r = 0; r < W; ++r)
          if (column + r < m) S::store(out + static_cast<std::size_t>(r) * stride, square[r]);
      }
    }
}

}  // namespace

template <class Real>
void form_images(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image) {
  constexpr int W = Simd<Real>::width;
  PANDORA_ASSERT(m <= stride && stride % W == 0);
  // Four vectors of a row at a time: that strip of P stays in the first-level cache for all B contexts.
  int column = 0;
  for (; column + 4 * W <= stride; column += 4 * W)
    image_columns<Real, 4>(P + column, m, stride, psi, B, image + column);
  switch ((stride - column) / W) {
    case 3:
      image_columns<Real, 3>(P + column, m, stride, psi, B, image + column);
      break;
    case 2:
      image_columns<Real, 2>(P + column, m, stride, psi, B, image + column);
      break;
    case 1:
      image_columns<Real, 1>(P + column, m, stride, psi, B, image + column);
      break;
    default:
      break;
  }
}

template <class Real>
void form_images(const Real* P, int m, int stride, const Real* psi, int psi_stride, int B, Real* image) {
  constexpr int kAtOnce = 64;
  for (int first = 0; first < B; first += kAtOnce) {
    const int count = B - first < kAtOnce ? B - first : kAtOnce;
    const Real* rows[kAtOnce];
    for (int j = 0; j < count; ++j) rows[j] = psi + static_cast<std::size_t>(first + j) * psi_stride;
    form_images(P, m, stride, rows, count, image + static_cast<std::size_t>(first) * stride);
  }
}

template <class Real>
void form_gram(const Real* image, int m, int stride, const Real* transposed, int B, int width, Real* gram) {
  constexpr int W = Simd<Real>::width;
  PANDORA_ASSERT(B <= width && width % W == 0);
  for (int first = 0; first < B; first += W) {  // rows first .. first + W - 1 need the columns from `first` on
    const int rows = B - first < W ? B - first : W;
    const Real* rows_image = image + static_cast<std::size_t>(first) * stride;
    Real* rows_gram = gram + static_cast<std::size_t>(first) * width;
    int column = first;
    for (; column + 2 * W <= width; column += 2 * W)
      gram_rows<Real, 2>(rows_image, m, stride, transposed + column, rows, width, rows_gram + column);
    if (column < width) gram_rows<Real, 1>(rows_image, m, stride, transposed + column, rows, width, rows_gram + column);
  }
}

template <class Real>
void rank_update(Real* P, int m, int stride, const Real* u, int q, UpdateSign sign) {
  PANDORA_ASSERT(m <= stride && stride % Simd<Real>::width == 0 && q >= 0);
  if (q == 0) return;
  if (sign == UpdateSign::add)
    update_upper<Real, 1>(P, m, stride, u, q);
  else
    update_upper<Real, -1>(P, m, stride, u, q);
  mirror(P, m, stride);
}

template <class Real>
void project_block(const Real* transposed, int m, int width, const Real* v, Real* out) {
  using S = Simd<Real>;
  for (int first = 0; first < width; first += S::width) {
    typename S::Vector even{}, odd{};
    int k = 0;
    for (; k + 2 <= m; k += 2) {
      even = S::fused(S::broadcast(v[k]), S::load(transposed + static_cast<std::size_t>(k) * width + first), even);
      odd =
          S::fused(S::broadcast(v[k + 1]), S::load(transposed + static_cast<std::size_t>(k + 1) * width + first), odd);
    }
    if (k < m)
      even = S::fused(S::broadcast(v[k]), S::load(transposed + static_cast<std::size_t>(k) * width + first), even);
    S::store(out + first, even + odd);
  }
}

#define PANDORA_INSTANTIATE(Real)                                                         \
  template void form_images<Real>(const Real*, int, int, const Real* const*, int, Real*); \
  template void form_images<Real>(const Real*, int, int, const Real*, int, int, Real*);   \
  template void form_gram<Real>(const Real*, int, int, const Real*, int, int, Real*);     \
  template void rank_update<Real>(Real*, int, int, const Real*, int, UpdateSign);         \
  template void project_block<Real>(const Real*, int, int, const Real*, Real*);
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
