#include "kernels/products/tiles.hpp"

#include <utility>

#include "kernels/base/assert.hpp"
#include "kernels/base/simd.hpp"

namespace pandora {
namespace {

// R x NV tiles of accumulators stay in registers, beside NV columns and a weight: 29 of 32, or 16 of 16.
constexpr int kRows = kRegisters == 32 ? 6 : 4, kMostColumns = kRegisters == 32 ? 4 : 3;  // R, NV

template <class Real, int R, int NV>
inline void image_tile(const Real* P, int m, int stride, const Real* const* psi, Real* image) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV] = {};
  for (int l = 0; l < m; ++l) {
    const Real* row = row_of(P, l, stride);
    typename S::Vector column[NV];
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) column[v] = S::load(row + v * S::width);
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename S::Vector weight = S::broadcast(psi[r][l]);
      PANDORA_UNROLL
      for (int v = 0; v < NV; ++v) sum[r][v] = S::fused(weight, column[v], sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(row_of(image, r, stride) + v * S::width, sum[r][v]);
}

template <class Real, int NV>
inline void image_columns(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image) {
  int j = 0;
  for (; j + kRows <= B; j += kRows) image_tile<Real, kRows, NV>(P, m, stride, psi + j, row_of(image, j, stride));
  for (; j + 2 <= B; j += 2) image_tile<Real, 2, NV>(P, m, stride, psi + j, row_of(image, j, stride));
  for (; j < B; ++j) image_tile<Real, 1, NV>(P, m, stride, psi + j, row_of(image, j, stride));
}

template <class Real, int Sign, int R, int NV>
inline void update_tile(Real* P, int row, int column, int stride, const Real* u, int q) {
  using S = Simd<Real>;
  typename S::Vector sum[R][NV];
  Real* const tile = row_of(P, row, stride) + column;
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) sum[r][v] = S::load(row_of(tile, r, stride) + v * S::width);
  for (int k = 0; k < q; ++k) {
    const Real* uk = row_of(u, k, stride);
    typename S::Vector part[NV];
    PANDORA_UNROLL
    for (int v = 0; v < NV; ++v) part[v] = S::load(uk + column + v * S::width);
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename S::Vector weight = S::broadcast(uk[row + r]);
      PANDORA_UNROLL
      for (int v = 0; v < NV; ++v)
        sum[r][v] = Sign > 0 ? S::fused(weight, part[v], sum[r][v]) : S::fused_negative(weight, part[v], sum[r][v]);
    }
  }
  PANDORA_UNROLL
  for (int r = 0; r < R; ++r) PANDORA_UNROLL
  for (int v = 0; v < NV; ++v) S::store(row_of(tile, r, stride) + v * S::width, sum[r][v]);
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

// Writes what lies in the registers, `rows` rows of P from (row, column) on, to the other side of the diagonal.
template <class Real>
inline void store_mirrored(Real* P, int m, int row, int column, int stride, typename Simd<Real>::Vector* rows) {
  constexpr int W = Simd<Real>::width;
  transpose<Real, W / 2>(rows);
  Real* const out = row_of(P, column, stride) + row;
  const int there = m - column;
  if (there >= W) {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) Simd<Real>::store(row_of(out, r, stride), rows[r]);
  } else {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r)
      if (r < there) Simd<Real>::store(row_of(out, r, stride), rows[r]);
  }
}

// A square of the upper triangle, and its image in the lower one.
template <class Real, int Sign>
inline void update_square(Real* P, int m, int row, int column, int stride, const Real* u, int q) {
  using S = Simd<Real>;
  constexpr int W = S::width;
  typename S::Vector sum[W];
  Real* const tile = row_of(P, row, stride) + column;
  const int rows = m - row;  // P has no more
  if (rows >= W) {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) sum[r] = S::load(row_of(tile, r, stride));
  } else {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) sum[r] = r < rows ? S::load(row_of(tile, r, stride)) : typename S::Vector{};
  }
  for (int k = 0; k < q; ++k) {
    const Real* uk = row_of(u, k, stride);
    const typename S::Vector part = S::load(uk + column);
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) {
      const typename S::Vector weight = S::broadcast(uk[row + r]);
      sum[r] = Sign > 0 ? S::fused(weight, part, sum[r]) : S::fused_negative(weight, part, sum[r]);
    }
  }
  if (rows >= W) {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) S::store(row_of(tile, r, stride), sum[r]);
  } else {
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r)
      if (r < rows) S::store(row_of(tile, r, stride), sum[r]);
  }
  if (row != column) store_mirrored<Real>(P, m, row, column, stride, sum);
}

// The last R rows, from `row` on, and the columns that mirror them.
template <class Real, int Sign, int R>
void update_last_rows(Real* P, int m, int row, int stride, const Real* u, int q) {
  using S = Simd<Real>;
  constexpr int W = S::width;
  int column = 0;
  constexpr int NV = kRegisters == 32 ? 3 : 2;
  for (; column + NV * W <= stride; column += NV * W) update_tile<Real, Sign, R, NV>(P, row, column, stride, u, q);
  for (; column < stride; column += W) update_tile<Real, Sign, R, 1>(P, row, column, stride, u, q);
  for (column = 0; column < row; column += W) {
    typename S::Vector square[W] = {};
    PANDORA_UNROLL
    for (int r = 0; r < R; ++r) square[r] = S::load(row_of(P, row + r, stride) + column);
    store_mirrored<Real>(P, m, row, column, stride, square);
  }
}

// Images' elements from `row` on, the last R: sums over the contexts' features, a context per element of a vector.
template <class Real, int R>
void image_last_rows(const Real* P, int m, int row, int stride, const Real* transposed, int width, int B, Real* image) {
  using S = Simd<Real>;
  constexpr int W = S::width, N = 2;  // so many vectors of contexts at a time: two sums of a row overlap
  for (int first = 0; first < B; first += N * W) {
    const int second = first + W < width ? W : 0;
    typename S::Vector square[N][W] = {};
    for (int l = 0; l < m; ++l) {
      const Real* columns = row_of(transposed, l, width) + first;
      const typename S::Vector column[N] = {S::load(columns), S::load(columns + second)};
      PANDORA_UNROLL
      for (int r = 0; r < R; ++r) {
        const typename S::Vector weight = S::broadcast(P[static_cast<std::size_t>(row + r) * stride + l]);
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n) square[n][r] = S::fused(weight, column[n], square[n][r]);
      }
    }
    store_mirrored<Real>(image, B, row, first, stride, square[0]);
    if (first + W < B) store_mirrored<Real>(image, B, row, first + W, stride, square[1]);
  }
}

// The first `columns` elements of the images. A few vectors of a row at a time: that strip of P stays in the first-level
// cache for all B contexts.
template <class Real>
void form_columns(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image, int columns) {
  constexpr int W = Simd<Real>::width;
  int column = 0;
  const auto strip = [&]<int NV>(std::integral_constant<int, NV>) {
    for (; column + NV * W <= columns; column += NV * W)
      image_columns<Real, NV>(P + column, m, stride, psi, B, image + column);
  };
  if (kRegisters == 16 && B == 1) strip(std::integral_constant<int, 7>{});  // so many sums hide each other's latency
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (strip(std::integral_constant<int, kMostColumns - I>{}), ...);
  }
  (std::make_integer_sequence<int, kMostColumns>{});
}

// f(R) for R = rows from 1 to as many as pay on their own, a constant: W / 2, or what two vectors each leave of 16
// registers.
template <class Real, class F>
bool with_few_rows(int rows, F&& f) {
  constexpr int W = Simd<Real>::width, kMost = kRegisters == 16 && W == 8 ? 6 : W / 2;
  return [&]<int... R>(std::integer_sequence<int, R...>) {
    return ((rows == R + 1 && (f(std::integral_constant<int, R + 1>{}), true)) || ...);
  }
  (std::make_integer_sequence<int, kMost>{});
}

// Rows from `row` on, as many as a vector has elements, from the diagonal to `columns`, and the columns that mirror them.
// For 16 registers: tiles of four rows read less than squares, and squares are read once more for their mirrors.
template <class Real, int Sign>
void update_rows(Real* P, int m, int row, int columns, int stride, const Real* u, int q) {
  using S = Simd<Real>;
  constexpr int W = S::width;
  for (int top = row; top < row + W; top += kRows) {
    int column = row;
    for (; column + 2 * W < columns; column += 3 * W) update_tile<Real, Sign, kRows, 3>(P, top, column, stride, u, q);
    if (column + W < columns)
      update_tile<Real, Sign, kRows, 2>(P, top, column, stride, u, q);
    else if (column < columns)
      update_tile<Real, Sign, kRows, 1>(P, top, column, stride, u, q);
  }
  for (int column = row + W; column < columns; column += W) {
    typename S::Vector square[W];
    PANDORA_UNROLL
    for (int r = 0; r < W; ++r) square[r] = S::load(row_of(P, row + r, stride) + column);
    store_mirrored<Real>(P, m, row, column, stride, square);
  }
}

template <class Real, int Sign>
void update_symmetric(Real* P, int m, int stride, const Real* u, int q) {
  constexpr int W = Simd<Real>::width;
  const int last = m / W * W;
  const bool few = with_few_rows<Real>(
      m - last, [&](auto rows) { update_last_rows<Real, Sign, decltype(rows)::value>(P, m, last, stride, u, q); });
  const int end = few ? last : m;
  int row = 0;
  for (; kRegisters == 16 && W % kRows == 0 && row < last; row += W)
    update_rows<Real, Sign>(P, m, row, end, stride, u, q);
  for (; row < end; row += W)
    for (int column = row; column < end; column += W) update_square<Real, Sign>(P, m, row, column, stride, u, q);
}

}  // namespace

template <class Real>
void form_images(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image) {
  PANDORA_ASSERT(m <= stride && stride % Simd<Real>::width == 0);
  form_columns(P, m, stride, psi, B, image, stride);
}

template <class Real>
void form_images(const Real* P, int m, int stride, const Real* psi, const Real* transposed, int B, int width,
                 Real* image) {
  constexpr int W = Simd<Real>::width, kAtOnce = 64;
  PANDORA_ASSERT(m <= stride && stride % W == 0 && B <= width && width % W == 0);
  const int last = m / W * W;
  const bool few = with_few_rows<Real>(m - last, [&](auto rows) {
    image_last_rows<Real, decltype(rows)::value>(P, m, last, stride, transposed, width, B, image);
  });
  for (int first = 0; first < B; first += kAtOnce) {
    const int count = B - first < kAtOnce ? B - first : kAtOnce;
    const Real* rows[kAtOnce];
    for (int j = 0; j < count; ++j) rows[j] = row_of(psi, first + j, stride);
    form_columns(P, m, stride, rows, count, row_of(image, first, stride), few ? last : stride);
  }
}

template <class Real>
void rank_update(Real* P, int m, int stride, const Real* u, int q, UpdateSign sign) {
  PANDORA_ASSERT(m <= stride && stride % Simd<Real>::width == 0 && q >= 0);
  if (q == 0) return;
  (sign == UpdateSign::add ? update_symmetric<Real, 1> : update_symmetric<Real, -1>)(P, m, stride, u, q);
}

#define PANDORA_INSTANTIATE(Real)                                                                    \
  template void form_images<Real>(const Real*, int, int, const Real* const*, int, Real*);            \
  template void form_images<Real>(const Real*, int, int, const Real*, const Real*, int, int, Real*); \
  template void rank_update<Real>(Real*, int, int, const Real*, int, UpdateSign);
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
