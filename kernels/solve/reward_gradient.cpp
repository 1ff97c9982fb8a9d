#include "kernels/solve/reward_gradient.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/lanes.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora::engine {

void reward_derivatives(const RewardTable& samples, const float* sample_weight, int n, const double* theta,
                        double* gradient, double* hessian) {
  using S = Simd<float>;
  constexpr int W = S::width, N = RewardTable::kStrip / W;
  constexpr int kFlush = 16;  // strips summed in float before they join the double totals
  const int d = samples.d;
  S::Vector g[kMaxRewardFeatures] = {}, weight[kMaxRewardFeatures];
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
  for (int first = 0; first < n; first += RewardTable::kStrip) {
    const auto phi = [&](int i, int v) {
      return S::load(samples.phi + static_cast<std::size_t>(i) * samples.capacity + first + v * W);
    };
    alignas(kSimdBytes) float linear[N * W], slope[N * W], excess[N * W];
    S::Vector z[N] = {}, e[N], w[N];
    for (int i = 0; i < d; ++i) PANDORA_UNROLL
    for (int v = 0; v < N; ++v) z[v] = S::fused(weight[i], phi(i, v), z[v]);
    for (int v = 0; v < N; ++v) S::store(linear + v * W, z[v]);
    const float* reward = samples.reward + first;
    for_lanes<N * W>([&](int k, auto& fused) PANDORA_INLINED {
      const float mean = logistic(linear[k], fused);
      slope[k] = mean * (1.0f - mean);
      excess[k] = mean - reward[k];
    });
    for (int k = 0; k < N * W && sample_weight != nullptr; ++k) {
      slope[k] *= sample_weight[first + k];
      excess[k] *= sample_weight[first + k];
    }
    for (int v = 0; v < N; ++v) {
      e[v] = S::load(excess + v * W);
      w[v] = S::load(slope + v * W);
    }
    // Samples beyond n have phi = 0 and add nothing.
    for (int i = 0, pair = 0; i < d; ++i) {
      S::Vector scaled[N], sum = g[i];
      PANDORA_UNROLL
      for (int v = 0; v < N; ++v) {
        sum = S::fused(e[v], phi(i, v), sum);
        scaled[v] = w[v] * phi(i, v);
      }
      g[i] = sum;
      for (int j = 0; j <= i; ++j, ++pair) {
        sum = h[pair];
        PANDORA_UNROLL
        for (int v = 0; v < N; ++v) sum = S::fused(scaled[v], phi(j, v), sum);
        h[pair] = sum;
      }
    }
    if (++strips % kFlush == 0) flush();
  }
  flush();
}

}  // namespace pandora::engine
