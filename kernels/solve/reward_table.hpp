// A lane's deployed samples feature by feature, for teams with vectors.
#pragma once

#include <cstddef>

namespace pandora::engine {

/// A view: phi[i * capacity + k] is feature i of sample k, then the rewards. Zero beyond the samples.
struct RewardTable {
  static constexpr int kStrip = 64;  ///< samples that are summed at a time

  int d, capacity;
  float *phi, *reward;

  /// capacity: the samples that there is room for, in whole strips.
  static constexpr int padded(int samples) { return (samples + kStrip - 1) / kStrip * kStrip; }
  static constexpr std::size_t size(int d, int samples) { return (static_cast<std::size_t>(d) + 1) * padded(samples); }
  static RewardTable over(float* memory, int d, int samples) {
    return {d, padded(samples), memory, memory + static_cast<std::size_t>(d) * padded(samples)};
  }

  void add(int sample, const float* features, float r) {
    for (int i = 0; i < d; ++i) phi[static_cast<std::size_t>(i) * capacity + sample] = features[i];
    reward[sample] = r;
  }
};

}  // namespace pandora::engine
