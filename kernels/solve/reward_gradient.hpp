// A lane's deployed samples stored by feature, for teams with vectors, and sums over them at a given theta, in single
// precision with double totals. Host code only; teams without vectors sum in double (kernels/solve/reward_solve.hpp).
#pragma once

#include <algorithm>
#include <cstddef>

namespace pandora::engine {

/// A view: phi[i * capacity + k] is feature i of sample k; the rewards follow. All is zero beyond the samples.
struct RewardTable {
  static constexpr int kStrip = 64;  ///< samples that are summed at a time

  int d, capacity;
  float *phi, *reward;

  /// capacity: the number of samples for which there is room, in whole strips.
  static constexpr int padded(int samples) { return (samples + kStrip - 1) / kStrip * kStrip; }
  static constexpr std::size_t size(int d, int samples) { return (static_cast<std::size_t>(d) + 1) * padded(samples); }
  static RewardTable over(float* memory, int d, int samples) {
    return {d, padded(samples), memory, memory + static_cast<std::size_t>(d) * padded(samples)};
  }

  void add(int sample, const float* features, float r) {
    for (int i = 0; i < d; ++i) phi[static_cast<std::size_t>(i) * capacity + sample] = features[i];
    reward[sample] = r;
  }
  /// Keeps only the samples from `first` to `last` of n.
  void keep(int first, int last, int n) {
    for (int i = 0; i <= d; ++i) {
      float* const row = phi + static_cast<std::size_t>(i) * capacity;  // the last one is `reward`
      std::fill(std::copy(row + first, row + last, row), row + n, 0.0f);
    }
  }
};

/// Derivatives behind (eq:hat:theta:def) over the first n samples: gradient (d) = sum_k w_k (G(theta' phi_k) - r_k)
/// phi_k; hessian (d x d, lower triangle) = sum_k w_k G' phi_k phi_k'. sample_weight: in whole strips; null: 1.
void reward_derivatives(const RewardTable& samples, const float* sample_weight, int n, const double* theta,
                        double* gradient, double* hessian);

}  // namespace pandora::engine
