#include "kernels/solve/reward_gradient.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/elementary.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora::engine {

void reward_derivatives(const RewardTable& samples, int n, const double* theta, double* gradient, double* hessian) {
  using S = Simd<float>;
  constexpr int W = S::width;
  constexpr int kFlush = 64;  // strips summed in float before they join the double totals
  const int d = samples.d;
  S::Vector g[kMaxRewardFeatures] = {}, phi[kMaxRewardFeatures], weight[kMaxRewardFeatures];
  std::vector<S::Vector, SimdAllocator<S::Vector>> h(static_cast<std::size_t>(d) * (d + 1) / 2, S::Vector{});
  for (int i = 0; i < d; ++i) weight[i] = S::broadcast(static_cast<float>(theta[i]));
  std::fill(gradient, gradient + d, 0.0);
  std::fill(hessian, hessian + d * d, 0.0);
  const auto flush = [&] {
    for (int i = 0, pair = 0; i < d; ++i) {
      gradient[i] += static_cast<double>(S::sum(g[i]));
      g[i] = S::Vector{};
      for (int j = 0; j <= i; ++j, ++pair) {
        hessian[i * d + j] += static_cast<double>(S::sum(h[pair]));
        h[pair] = S::Vector{};
      }
    }
  };
  int strips = 0;
  for (int first = 0; first < n; first += W) {
    S::Vector z{};
    for (int i = 0; i < d; ++i) {
      phi[i] = S::load(samples.phi + static_cast<std::size_t>(i) * samples.capacity + first);
      z = S::fused(weight[i], phi[i], z);
    }
    alignas(kSimdBytes) float linear[W], slope[W], excess[W];
    S::store(linear, z);
    const float* reward = samples.reward + first;
    PANDORA_SIMD
    for (int k = 0; k < W; ++k) {
      const float mean = logistic(linear[k]);
      slope[k] = mean * (1.0f - mean);
      excess[k] = mean - reward[k];
    }
    // Samples beyond n have phi = 0 and add nothing.
    const S::Vector e = S::load(excess), w = S::load(slope);
    for (int i = 0, pair = 0; i < d; ++i) {
      g[i] = S::fused(e, phi[i], g[i]);
      const S::Vector scaled = w * phi[i];
      for (int j = 0; j <= i; ++j, ++pair) h[pair] = S::fused(scaled, phi[j], h[pair]);
    }
    if (++strips % kFlush == 0) flush();
  }
  flush();
}

}  // namespace pandora::engine
