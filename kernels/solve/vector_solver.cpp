#include "kernels/solve/vector_solver.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.hpp"
#include "kernels/base/lanes.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/products/tiles.hpp"
#include "kernels/rules/index_loss.hpp"

namespace pandora::engine {
namespace {

constexpr int kStrip = 16;    // samples whose z are formed before their moments
constexpr int kFlush = 512;   // samples summed in Real before they join the double sum
constexpr int kPrefetch = 8;  // samples ahead; the rows of a box are scattered over the tape

template <class Real>
void form_z(const SampleView<Real>& s, const Real* rho, int first, int count, Real* z) {
  using S = Simd<Real>;
  for (int k = 0; k < count; ++k) {
    if (const int ahead = first + k + kPrefetch; ahead < s.n) {
      const Real* next = s.psi + static_cast<std::size_t>(s.rows[ahead]) * s.stride;
      for (int i = 0; i < s.stride; i += S::width) __builtin_prefetch(next + i);
    }
    const Real* psi = s.psi + static_cast<std::size_t>(s.rows[first + k]) * s.stride;
    z[k] = padded_dot(psi, rho, s.stride);
  }
}

template <Loss kLoss, class Real>
void moments(const Real* z, const Real* cost, const Real* mu, Real* moment, Real* weight) {
  for_lanes<kStrip>([&](int k, auto& fused) PANDORA_INLINED {
    const IndexMoment<Real> value = index_moment(kLoss, z[k], cost[k], mu[k], fused);
    moment[k] = value.moment;
    weight[k] = value.curvature;
  });
}

// Multiplies moments and curvatures by the samples' own weights; returns sum_s w_s m_s^2. Beyond `count` both are zero.
template <class Real>
double weigh(const SampleView<Real>& s, int first, int count, Real* moment, Real* curvature) {
  if (s.weight == nullptr) return static_cast<double>(padded_dot(moment, moment, kStrip));
  alignas(64) Real weighted[kStrip] = {};
  for (int k = 0; k < count; ++k) {
    weighted[k] = s.weight[first + k] * moment[k];
    curvature[k] *= s.weight[first + k];
  }
  const double squares = static_cast<double>(padded_dot(moment, weighted, kStrip));
  std::copy(weighted, weighted + kStrip, moment);
  return squares;
}

// gradient += sum over the strip; NV vectors of the features from `column` on stay in registers.
template <class Real, int NV>
void accumulate(const SampleView<Real>& s, int first, int count, const Real* moment, int column, Real* sum) {
  using S = Simd<Real>;
  typename S::Vector g[NV];
  for (int v = 0; v < NV; ++v) g[v] = S::load(sum + column + v * S::width);
  for (int k = 0; k < count; ++k) {
    const Real* psi = s.psi + static_cast<std::size_t>(s.rows[first + k]) * s.stride + column;
    const auto weight = S::broadcast(moment[k]);
    for (int v = 0; v < NV; ++v) g[v] = S::fused(weight, S::load(psi + v * S::width), g[v]);
  }
  for (int v = 0; v < NV; ++v) S::store(sum + column + v * S::width, g[v]);
}

}  // namespace

template <class Real>
double index_gradient(const SampleView<Real>& s, const Real* rho, double* gradient, Real* curvature) {
  using S = Simd<Real>;
  SimdVector<Real> sum(static_cast<std::size_t>(s.stride), Real(0));
  for (int k = 0; k < s.m; ++k) gradient[k] = 0.0;
  double squares = 0.0;
  for (int first = 0; first < s.n; first += kStrip) {
    const int count = s.n - first < kStrip ? s.n - first : kStrip;
    alignas(64) Real moment[kStrip];
    Real z[kStrip] = {}, weight[kStrip], cost[kStrip] = {}, mu[kStrip] = {};
    form_z(s, rho, first, count, z);
    for (int k = 0; k < count; ++k) {
      cost[k] = s.cost[first + k];
      mu[k] = s.mu[first + k];
    }
    if (s.loss == Loss::reservation)
      moments<Loss::reservation>(z, cost, mu, moment, weight);
    else
      moments<Loss::linear_quadratic>(z, cost, mu, moment, weight);
    squares += weigh(s, first, count, moment, weight);
    std::copy(weight, weight + count, curvature + first);
    int column = 0;
    for (; column + 7 * S::width <= s.stride; column += 7 * S::width)
      accumulate<Real, 7>(s, first, count, moment, column, sum.data());
    for (; column < s.stride; column += S::width) accumulate<Real, 1>(s, first, count, moment, column, sum.data());
    if ((first + kStrip) % kFlush == 0 || first + kStrip >= s.n) {
      for (int k = 0; k < s.m; ++k) gradient[k] += static_cast<double>(sum[k]);
      std::fill(sum.begin(), sum.end(), Real(0));
    }
  }
  return squares;
}

template <class Real, class Sum>
void add_outer(const SampleView<Real>& s, const Real* weight, Sum* C) {
  constexpr int kBatch = 64;  // outer products per pass over C
  SimdVector<Sum> active(static_cast<std::size_t>(kBatch) * s.stride);
  int used = 0;
  for (int k = 0; k < s.n; ++k) {
    if (weight == nullptr || weight[k] > Real(0)) {
      const Sum root = weight == nullptr ? Sum(1) : static_cast<Sum>(std::sqrt(weight[k]));
      const Real* psi = s.psi_of(k);
      Sum* out = active.data() + static_cast<std::size_t>(used++) * s.stride;
      for (int i = 0; i < s.stride; ++i) out[i] = root * static_cast<Sum>(psi[i]);
    }
    if (used == kBatch || k + 1 == s.n) {
      rank_update(C, s.m, s.stride, active.data(), used, UpdateSign::add);
      used = 0;
    }
  }
}

#define PANDORA_INSTANTIATE(Real, Sum) template void add_outer<Real, Sum>(const SampleView<Real>&, const Real*, Sum*);
PANDORA_INSTANTIATE(float, float)
PANDORA_INSTANTIATE(float, double)
PANDORA_INSTANTIATE(double, double)
#undef PANDORA_INSTANTIATE
template double index_gradient<float>(const SampleView<float>&, const float*, double*, float*);
template double index_gradient<double>(const SampleView<double>&, const double*, double*, double*);

namespace {

constexpr int kBatch = 12;  // updates per pass over the matrix; each is corrected for those before it

// The part of the matrix in the sample's direction that must remain after a decrease; with less, rounding decides.
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
  // Increases go first: they make the inverse smaller, which leaves room for the decreases.
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
