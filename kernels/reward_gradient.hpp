// Sums over a lane's deployed samples at a given theta, in single precision with double totals.
#pragma once

#include "kernels/instance.hpp"
#include "kernels/simd.hpp"

namespace pandora {

/// Deployed samples feature by feature: phi[i * capacity + k] is feature i of sample k.
struct RewardSampleTable {
  int d = 0, capacity = 0, n = 0;
  SimdVector<float> phi, reward;

  RewardSampleTable(int features, int most)
      : d(features),
        capacity(padded_to_vector<float>(most)),
        phi(static_cast<std::size_t>(d) * capacity, 0.0f),
        reward(static_cast<std::size_t>(capacity), 0.0f) {}
  void add(const float* features, float r) {
    for (int i = 0; i < d; ++i) phi[static_cast<std::size_t>(i) * capacity + n] = features[i];
    reward[n++] = r;
  }
};

/// Derivatives behind (eq:hat:theta:def): gradient (d) = sum_k (G(theta' phi_k) - r_k) phi_k; hessian (d x d, lower
/// triangle) = sum_k G' phi_k phi_k'.
void reward_derivatives(const RewardSampleTable& samples, const double* theta, double* gradient, double* hessian);

}  // namespace pandora
