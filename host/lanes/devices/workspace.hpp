// The memory of a preparation on a backend, and how it is divided.
#pragma once

#include <algorithm>
#include <cmath>

#include "host/lanes/model/draw_instance.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/arena.hpp"
#include "kernels/tape/bodies.hpp"
#include "oracle/bodies.hpp"
#include "oracle/oracle.hpp"

namespace pandora::prepare {

/// The arrays of a preparation on the backend.
struct Workspace {
  // parameters
  double *theta = nullptr, *c0 = nullptr, *c1 = nullptr, *intercept = nullptr, *quantiles = nullptr;
  float *maps = nullptr, *D = nullptr, *beta1 = nullptr, *direction = nullptr, *sample_beta1 = nullptr;
  // draws
  ContextArrays contexts{};
  OutputArrays outputs{};
  float *projected = nullptr, *cost_terms = nullptr, *pooled = nullptr;
  double* magnitude = nullptr;
  int* failed = nullptr;
  // oracle
  LawArrays law{};
  double *law_scratch = nullptr, *grid = nullptr, *extremes = nullptr, *strips = nullptr, *sums = nullptr;
  double *expected_cost = nullptr, *sigma = nullptr;

  Workspace() = default;
  /// Room for `most_rows` contexts at a time, and for so many teams at the same time.
  Workspace(Arena& arena, const Instance& instance, int most_rows, const OracleOptions& oracle, int teams) {
    const Dimensions& dim = instance.dimensions;
    const Environment& environment = instance.environment;
    const bool contextual = instance.contextual(), linear = instance.linear_indices();
    const std::size_t A = static_cast<std::size_t>(dim.boxes), d = static_cast<std::size_t>(dim.reward_features),
                      n = static_cast<std::size_t>(dim.context), w = static_cast<std::size_t>(dim.output),
                      rows = static_cast<std::size_t>(most_rows), cells = rows * A,
                      M = static_cast<std::size_t>(oracle.samples), slots = static_cast<std::size_t>(teams),
                      L = static_cast<std::size_t>(location_count(dim, environment));
    theta = arena.take<double>(d);
    c0 = arena.take<double>(A);
    c1 = arena.take<double>(A);
    intercept = arena.take<double>(linear ? A : 0);
    quantiles = arena.take<double>(static_cast<std::size_t>(length::quantiles(dim, environment)));
    maps = arena.take<float>(n * static_cast<std::size_t>(DrawContexts::outputs(
                                     static_cast<int>(L), dim.reward_features, dim.boxes, linear)));
    D = arena.take<float>(w * d);
    beta1 = arena.take<float>(A * w);
    direction = arena.take<float>(w);
    sample_beta1 = arena.take<float>(w * A);

    const int stride = padded_to_vector<float>(dim.index_size());
    contexts = {most_rows,
                dim.boxes,
                dim.reward_features,
                dim.context,
                dim.index_size(),
                stride,
                static_cast<int>(L),
                arena.take<float>(rows * stride),
                arena.take<float>(rows * L * d),
                arena.take<double>(rows * L),
                arena.take<double>(cells),
                arena.take<double>(cells),
                linear ? arena.take<double>(cells) : nullptr};
    outputs = {arena.take<float>(cells * d), arena.take<double>(cells), arena.take<double>(cells),
               arena.take<float>(cells)};
    projected = arena.take<float>(M);
    cost_terms = arena.take<float>(contextual ? A * M : 0);
    pooled = arena.take<float>(static_cast<std::size_t>(dim.radius_draws));
    magnitude = arena.take<double>(contextual ? static_cast<std::size_t>(dim.radius_draws) : 0);
    failed = arena.take<int>(1);

    law.size = !contextual || oracle.bins == 0 ? oracle.samples : std::min(oracle.samples, oracle.bins);
    law.chunk = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(law.size))));
    law.points = arena.take<double>(static_cast<std::size_t>(law.size));
    law.cumulative = arena.take<double>(static_cast<std::size_t>(law.size));
    law_scratch = arena.take<double>(SolveNodes::scratch_size(law) * (contextual ? slots : 1));
    if (contextual) {
      grid = arena.take<double>(static_cast<std::size_t>(oracle.grid.shift) * oracle.grid.scale * oracle.grid.cost);
      extremes = arena.take<double>(2 * StripRanges::kStrips);
      strips = arena.take<double>(slots * kPerItem);
      sums = arena.take<double>(A * ChebyshevNodes::kNodes * OutputCostSums::pieces(oracle.samples));
    }
    expected_cost = arena.take<double>(std::max(cells, A));
    sigma = arena.take<double>(std::max(cells, A));
  }
};

}  // namespace pandora::prepare
