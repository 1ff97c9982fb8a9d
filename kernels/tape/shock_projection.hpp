// Truncated shock vectors xi, of which only a few projections are kept; the vectors themselves are never stored.
#pragma once

#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/lanes.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// The weights of the projections, coordinate-major: linear[j * n_linear + p] multiplies xi_j, absolute[j * n_absolute
/// + q] multiplies |xi_j|.
struct ShockWeights {
  int n_linear = 0;
  int n_absolute = 0;
  std::vector<float> linear;
  std::vector<float> absolute;
};

/// A row-major matrix (n_rows x n_columns) as weights: out[j * n_rows + i] = rows[i * n_columns + j].
std::vector<float> coordinate_major(const std::vector<double>& rows, int n_rows, int n_columns);

/// D' v for v in the space of the reward features: the direction on which a shock is projected for v' phi. The oracle
/// uses D' theta_*.
std::vector<double> output_direction(const Instance& instance, const std::vector<double>& v);

/// How often a shock is drawn again until it falls inside the ball. The attempt and the coordinate block share counter
/// word 0, with 16 bits each.
inline constexpr std::uint32_t kMostAttempts = 0xffff;

/// The law of a coordinate. `of_tape`: with the correlation of boxes that are drawn together.
inline CoordinateLaw coordinate_law(const Environment& environment, bool of_tape) {
  const CoordinateLaw alone(environment.law, environment.coordinate);
  return of_tape ? alone.correlated(environment.correlation) : alone;
}

/// The error for a shock that falls outside the ball in all attempts.
RejectsNearlyAll rejects_nearly_all(const Environment& environment);

/// W shocks side by side. The sums run over the coordinates in order with explicit fma, so a vector's
/// projections have the same bits for every W, on every device.
template <int W>
struct ProjectedShocks {
  static constexpr int kMax = kMaxRewardFeatures;
  float linear[kMax][W];
  float absolute[kMax][W];
  float squared_norm[W];

  PANDORA_HD void draw(CoordinateLaw law, float scale, int output_size, const Stream& stream,
                       const float* linear_weights, int n_linear, const float* absolute_weights, int n_absolute,
                       const std::uint32_t (&attempt)[W], const std::uint32_t (&period)[W],
                       const std::uint32_t (&box)[W]) {
    float norm[W] = {};
    for (int p = 0; p < n_linear; ++p) PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) linear[p][lane] = 0.0f;
    for (int q = 0; q < n_absolute; ++q) PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) absolute[q][lane] = 0.0f;
    for (int first = 0; first < output_size; first += 4) {
      float xi[4][W];
      shock_group<W>(law, stream, static_cast<std::uint32_t>(first / 4), attempt, period, box, xi);
      for (int k = 0; k < 4; ++k) PANDORA_SIMD
      for (int lane = 0; lane < W; ++lane) xi[k][lane] *= scale;
      const float *const row = linear_weights + first * n_linear, *const of_magnitudes =
                                                                      absolute_weights + first * n_absolute;
      if (first + 4 <= output_size)
        add_coordinates<4>(xi, row, n_linear, of_magnitudes, n_absolute, norm);
      else
        for (int k = 0; first + k < output_size; ++k)
          add_coordinates<1>(xi + k, row + k * n_linear, n_linear, of_magnitudes + k * n_absolute, n_absolute, norm);
    }
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) squared_norm[lane] = norm[lane];
  }

 private:
  // Takes K coordinates at once, so that each sum is read and written once for all of them.
  template <int K>
  PANDORA_HD void add_coordinates(const float (*xi)[W], const float* row, int n_linear, const float* of_magnitudes,
                                  int n_absolute, float (&norm)[W]) {
    float magnitude[K][W], next[W];
    for (int k = 0; k < K; ++k) PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) magnitude[k][lane] = xi[k][lane] < 0.0f ? -xi[k][lane] : xi[k][lane];
    for_lanes<W>([&](int lane, auto& fused) PANDORA_INLINED {
      float value = norm[lane];
      PANDORA_UNROLL
      for (int k = 0; k < K; ++k) value = fused(xi[k][lane], xi[k][lane], value);
      next[lane] = value;
    });
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) norm[lane] = next[lane];
    for (int p = 0; p < n_linear; ++p) accumulate<K>(row + p, n_linear, xi, linear[p]);
    for (int q = 0; q < n_absolute; ++q) accumulate<K>(of_magnitudes + q, n_absolute, magnitude, absolute[q]);
  }

  // The copy tells the compiler that the arrays do not overlap; without it the loop is not vectorised.
  template <int K>
  PANDORA_HD static void accumulate(const float* weight, int stride, const float (*value)[W], float (&sum)[W]) {
    float next[W];
    for_lanes<W>([&](int lane, auto& fused) PANDORA_INLINED {
      float total = sum[lane];
      PANDORA_UNROLL
      for (int k = 0; k < K; ++k) total = fused(weight[k * stride], value[k][lane], total);
      next[lane] = total;
    });
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) sum[lane] = next[lane];
  }
};

/// Which shocks to draw: draw i has period first_period + i.
struct ShockRange {
  std::uint32_t first_period = 0;
  std::uint32_t count = 0;
  std::uint32_t box = 0;
  std::uint32_t cycle = 0;  ///< 0: all draws belong to `box`; A: draw i belongs to box i mod A
  bool of_tape = false;     ///< whether the boxes' correlation applies, which it does only for the tape
};

/// Projections of `range.count` accepted shocks: linear is count x n_linear, absolute count x n_absolute.
/// Returns the number of vectors that were rejected on the way.
std::uint64_t draw_projected_shocks(const Environment& environment, int output_size, const Stream& stream,
                                    const ShockRange& range, const ShockWeights& weights, float* linear,
                                    float* absolute);

}  // namespace pandora
