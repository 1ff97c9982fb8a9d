#include "kernels/solve/followed_inverse.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/products/tiles.hpp"

namespace pandora::engine {
namespace {

constexpr int kBatch = 12;  // updates per pass over the matrix; each is corrected for those before it

// What a decrease leaves of the matrix in the sample's direction, in parts; below, rounding decides what it is.
template <class Real>
constexpr Real kLeastPivot = sizeof(Real) == 4 ? Real(1e-3) : Real(1e-10);

}  // namespace

template <class Real>
void FollowedInverse<Real>::reset(Ridges ridges) {
  std::fill(matrix, matrix + static_cast<std::size_t>(m) * stride, Real(0));
  std::fill(weight, weight + capacity, Real(0));
  for (int k = 0; k < m; ++k) matrix[static_cast<std::size_t>(k) * stride + k] = static_cast<Real>(1.0 / ridges.of(k));
}

template <class Real>
bool FollowedInverse<Real>::follow(const SampleView<Real>& samples, const Real* target, Real least) {
  PANDORA_ASSERT(samples.n <= capacity && samples.m == m && samples.stride == stride);
  bool all = true;
  // Increases first: they make the matrix smaller, which leaves room for the decreases.
  for (const Real sign : {Real(1), Real(-1)}) {
    int changed[kBatch], count = 0;
    for (int s = 0; s < samples.n; ++s) {
      if (!((target[s] - weight[s]) * sign > least)) continue;
      changed[count++] = s;
      if (count == kBatch) {
        all = apply(samples, target, changed, count) && all;
        count = 0;
      }
    }
    all = apply(samples, target, changed, count) && all;
  }
  return all;
}

// All changes of one sign. With P_j the matrix after j of them, v_j = P_j psi_j = P psi_j -+ sum_{i<j} u_i u_i' psi_j.
template <class Real>
bool FollowedInverse<Real>::apply(const SampleView<Real>& samples, const Real* target, const int* changed, int count) {
  if (count == 0) return true;
  SimdVector<Real> image(static_cast<std::size_t>(count) * stride), u(image.size());
  const Real* psi[kBatch];
  for (int j = 0; j < count; ++j) psi[j] = samples.psi_of(changed[j]);
  form_images(matrix, m, stride, psi, count, image.data());
  const bool increase = target[changed[0]] > weight[changed[0]];
  int updates = 0;
  for (int j = 0; j < count; ++j) {
    Real* const v = image.data() + static_cast<std::size_t>(j) * stride;
    for (int i = 0; i < updates; ++i) {
      const Real* earlier = u.data() + static_cast<std::size_t>(i) * stride;
      const Real dot = padded_dot(earlier, psi[j], stride);
      add_multiple(v, earlier, increase ? -dot : dot, stride);
    }
    const Real change = target[changed[j]] - weight[changed[j]];
    const Real pivot = Real(1) + change * padded_dot(psi[j], v, stride);
    if (!(pivot > kLeastPivot<Real>)) continue;
    const Real scale = std::sqrt(std::abs(change) / pivot);
    Real* const out = u.data() + static_cast<std::size_t>(updates++) * stride;
    for (int i = 0; i < stride; ++i) out[i] = scale * v[i];
    weight[changed[j]] = target[changed[j]];
  }
  rank_update(matrix, m, stride, u.data(), updates, increase ? UpdateSign::subtract : UpdateSign::add);
  return updates == count;
}

template struct FollowedInverse<float>;
template struct FollowedInverse<double>;

}  // namespace pandora::engine
