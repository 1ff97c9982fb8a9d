#include "kernels/tape/shock_projection.hpp"

#include <string>

namespace pandora {
namespace {

constexpr int kWidth = 16;
constexpr int kMostOutputs = 131072;  // t_5 takes two counter blocks for four coordinates, correlated laws four

template <int W>
void draw_batch(const Environment& environment, int output_size, const Stream& stream, const ShockRange& range,
                const ShockWeights& weights, std::uint32_t first, std::uint32_t attempt_number,
                ProjectedShocks<W>& shocks) {
  std::uint32_t attempt[W], period[W], box[W];
  for (int lane = 0; lane < W; ++lane) {
    const std::uint32_t sample = first + static_cast<std::uint32_t>(lane);
    attempt[lane] = attempt_number;
    period[lane] = range.first_period + sample;
    box[lane] = range.cycle == 0 ? range.box : sample % range.cycle;
  }
  shocks.draw(coordinate_law(environment, range.of_tape), environment.shock_scale, output_size, stream,
              weights.linear.data(), weights.n_linear, weights.absolute.data(), weights.n_absolute, attempt, period,
              box);
}

}  // namespace

RejectsNearlyAll rejects_nearly_all(const Environment& environment) {
  return RejectsNearlyAll("environment " + environment.name + ": a truncation radius of " +
                          std::to_string(environment.truncation_radius) + " rejects nearly every shock");
}

std::vector<float> coordinate_major(const std::vector<double>& rows, int n_rows, int n_columns) {
  std::vector<float> out(rows.size());
  for (int i = 0; i < n_rows; ++i)
    for (int j = 0; j < n_columns; ++j)
      out[static_cast<std::size_t>(j) * n_rows + i] =
          static_cast<float>(rows[static_cast<std::size_t>(i) * n_columns + j]);
  return out;
}

std::vector<double> output_direction(const Instance& instance, const std::vector<double>& v) {
  const Dimensions& dim = instance.dimensions;
  std::vector<double> out(static_cast<std::size_t>(dim.output), 0.0);
  for (int k = 0; k < dim.reward_features; ++k)
    for (int j = 0; j < dim.output; ++j) out[j] += v[k] * instance.D[static_cast<std::size_t>(k) * dim.output + j];
  return out;
}

std::uint64_t draw_projected_shocks(const Environment& environment, int output_size, const Stream& stream,
                                    const ShockRange& range, const ShockWeights& weights, float* linear,
                                    float* absolute) {
  const bool dependent_t5 = range.of_tape && environment.correlation > 0.0 && environment.law == Law::student_t5;
  if (const int most = dependent_t5 ? kMostOutputs / 2 : kMostOutputs; output_size > most)
    throw InvalidInput("output vectors are limited to " + std::to_string(most) + " coordinates");
  const float limit = environment.truncation_radius * environment.truncation_radius;
  ProjectedShocks<kWidth> batch;
  ProjectedShocks<1> single;
  std::uint64_t rejected = 0;
  for (std::uint32_t first = 0; first < range.count; first += kWidth) {
    draw_batch(environment, output_size, stream, range, weights, first, 0, batch);
    const std::uint32_t used = range.count - first < kWidth ? range.count - first : kWidth;
    for (std::uint32_t lane = 0; lane < used; ++lane) {
      const std::size_t sample = first + lane;
      if (batch.squared_norm[lane] <= limit) {
        for (int p = 0; p < weights.n_linear; ++p) linear[sample * weights.n_linear + p] = batch.linear[p][lane];
        for (int q = 0; q < weights.n_absolute; ++q)
          absolute[sample * weights.n_absolute + q] = batch.absolute[q][lane];
        continue;
      }
      std::uint32_t attempt = 0;
      do {
        ++rejected;
        if (attempt == kMostAttempts) throw rejects_nearly_all(environment);
        draw_batch(environment, output_size, stream, range, weights, first + lane, ++attempt, single);
      } while (single.squared_norm[0] > limit);
      for (int p = 0; p < weights.n_linear; ++p) linear[sample * weights.n_linear + p] = single.linear[p][0];
      for (int q = 0; q < weights.n_absolute; ++q) absolute[sample * weights.n_absolute + q] = single.absolute[q][0];
    }
  }
  return rejected;
}

}  // namespace pandora
