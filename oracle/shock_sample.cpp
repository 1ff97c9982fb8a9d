#include "oracle/shock_sample.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "kernels/tape/shock_projection.hpp"

namespace pandora {

ShockSample draw_shock_sample(const Instance& instance, int samples) {
  const Dimensions& dim = instance.dimensions;
  const std::vector<double> direction = output_direction(instance, instance.theta);
  ShockSample sample;
  sample.link = instance.environment.reward_link;
  for (double value : direction) sample.projection_norm += value * value;
  sample.projection_norm = std::sqrt(sample.projection_norm);

  ShockWeights weights;
  weights.n_linear = 1;
  for (double value : direction) weights.linear.push_back(static_cast<float>(value / sample.projection_norm));
  if (instance.contextual()) {
    weights.n_absolute = dim.boxes;
    weights.absolute = coordinate_major(instance.beta1, dim.boxes, dim.output);
  }
  const std::size_t M = static_cast<std::size_t>(samples);
  sample.projected.resize(M);
  std::vector<float> absolute(M * weights.n_absolute);
  draw_projected_shocks(instance.environment, dim.output, instance.stream(Purpose::oracle_shock),
                        {0, static_cast<std::uint32_t>(samples), 0, 0}, weights, sample.projected.data(),
                        absolute.data());
  sample.cost_terms.resize(weights.n_absolute);
  for (int a = 0; a < weights.n_absolute; ++a) {
    sample.cost_terms[a].resize(M);
    for (std::size_t i = 0; i < M; ++i) sample.cost_terms[a][i] = absolute[i * weights.n_absolute + a];
  }
  std::sort(sample.projected.begin(), sample.projected.end(), std::greater<>());
  return sample;
}

OutputCostTable::OutputCostTable(double least, double greatest, std::vector<double> values)
    : least_(least), greatest_(greatest), nodes_(ChebyshevNodes::over(least, greatest)), values_(std::move(values)) {}

OutputCostTable::OutputCostTable(const ShockSample& sample, int boxes, double least, double greatest)
    : OutputCostTable(least, greatest, std::vector<double>(static_cast<std::size_t>(boxes) * kNodes, 0.5)) {
  for (int a = 0; a < static_cast<int>(sample.cost_terms.size()); ++a)
    for (int node = 0; node < kNodes; ++node) {
      const float scale = static_cast<float>(this->node(node));
      const std::vector<float>& terms = sample.cost_terms[a];
      constexpr std::size_t kStrip = 16;  // fixed-order partial sums that vectorise
      double sums[kStrip] = {};
      std::size_t i = 0;
      for (; i + kStrip <= terms.size(); i += kStrip) {
        PANDORA_SIMD
        for (std::size_t k = 0; k < kStrip; ++k) sums[k] += static_cast<double>(logistic(scale * terms[i + k]));
      }
      for (; i < terms.size(); ++i) sums[0] += static_cast<double>(logistic(scale * terms[i]));
      double total = 0.0;
      for (double s : sums) total += s;
      values_[static_cast<std::size_t>(a) * kNodes + node] = total / static_cast<double>(terms.size());
    }
}

}  // namespace pandora
