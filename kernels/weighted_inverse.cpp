#include "kernels/weighted_inverse.hpp"

#include <cmath>

#include "kernels/block_products.hpp"

namespace pandora {
namespace {

constexpr int kBatch = 12;  // updates per pass over the matrix; each is corrected for those before it

}  // namespace

template <class Real>
void reset_inverse(SimdVector<Real>& matrix, int m, int stride, double ridge) {
  matrix.assign(static_cast<std::size_t>(m) * stride, Real(0));
  for (int k = 0; k < m; ++k) matrix[static_cast<std::size_t>(k) * stride + k] = static_cast<Real>(1.0 / ridge);
}

template <class Real>
void WeightedInverse<Real>::reset(int m, int stride, double ridge, int n) {
  reset_inverse(matrix, m, stride, ridge);
  weight.assign(static_cast<std::size_t>(n), Real(0));
}

template <class Real>
void WeightedInverse<Real>::follow(const SampleView<Real>& samples, const std::vector<Real>& target, Real least) {
  // Increases first: they make the matrix smaller, which leaves room for the decreases.
  for (const Real sign : {Real(1), Real(-1)}) {
    int changed[kBatch], count = 0;
    for (int s = 0; s < samples.n; ++s) {
      if (!((target[s] - weight[s]) * sign > least)) continue;
      changed[count++] = s;
      if (count == kBatch) {
        apply(samples, target, changed, count);
        count = 0;
      }
    }
    apply(samples, target, changed, count);
  }
}

// All changes of one sign. With P_j the matrix after j of them, v_j = P_j psi_j = P psi_j -+ sum_{i<j} u_i u_i' psi_j.
template <class Real>
void WeightedInverse<Real>::apply(const SampleView<Real>& samples, const std::vector<Real>& target, const int* changed,
                                  int count) {
  if (count == 0) return;
  const int m = samples.m, stride = samples.stride;
  SimdVector<Real> image(static_cast<std::size_t>(count) * stride), u(image.size());
  const Real* psi[kBatch];
  for (int j = 0; j < count; ++j) psi[j] = samples.psi + static_cast<std::size_t>(samples.rows[changed[j]]) * stride;
  form_images(matrix.data(), m, stride, psi, count, image.data());
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
    if (!(pivot > Real(1e-3))) continue;
    const Real scale = std::sqrt(std::abs(change) / pivot);
    Real* const out = u.data() + static_cast<std::size_t>(updates++) * stride;
    for (int i = 0; i < stride; ++i) out[i] = scale * v[i];
    weight[changed[j]] = target[changed[j]];
  }
  rank_update(matrix.data(), m, stride, u.data(), updates, increase ? UpdateSign::subtract : UpdateSign::add);
}

#define PANDORA_INSTANTIATE(Real)                                         \
  template void reset_inverse<Real>(SimdVector<Real>&, int, int, double); \
  template struct WeightedInverse<Real>;
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
