// The matrix products of a block (CPU). A matrix P is m x m, symmetric, stored in full with rows of `stride`
// elements; B contexts are rows psi_j of length >= m, zero beyond m; `transposed` holds them feature-major
// (m rows of `width` elements, zero beyond B). Sums run in a fixed order (one fma each where the machine has fma), so
// that a result does not depend on which lanes are computed together, and P stays exactly symmetric: P(i,k) and P(k,i)
// see the same operations.
#pragma once

#include <cstddef>

namespace pandora {

template <class Real>
inline Real* row_of(Real* matrix, int row, int stride) {
  return matrix + static_cast<std::size_t>(row) * stride;
}

/// image_j = P psi_j for all B rows: image(j, k), rows of `stride`.
template <class Real>
void form_images(const Real* P, int m, int stride, const Real* const* psi, int B, Real* image);

/// The same for contexts in consecutive rows of `stride` elements that are there feature by feature too.
template <class Real>
void form_images(const Real* P, int m, int stride, const Real* psi, const Real* transposed, int B, int width,
                 Real* image);

/// gram(j, i) = psi_i' image_j for i >= j (entries left of j's vector are not written), rows of `width`.
template <class Real>
void form_gram(const Real* image, int m, int stride, const Real* transposed, int B, int width, Real* gram);

enum class UpdateSign { add, subtract };

/// P += or -= sum_q u_q u_q' over q vectors of `stride` elements (zero beyond m).
template <class Real>
void rank_update(Real* P, int m, int stride, const Real* u, int q, UpdateSign sign);

/// out_i = psi_i' v for the `width` columns of `transposed`.
template <class Real>
void project_block(const Real* transposed, int m, int width, const Real* v, Real* out);

/// The same for `rows` vectors of `stride` elements: out(r, i), rows of `width`.
template <class Real>
void project_rows(const Real* transposed, int m, int stride, int width, const Real* v, int rows, Real* out);

}  // namespace pandora
