// The draws of a replication as bodies for teams (kernels/base/team.hpp): contexts, outputs, and the oracle's shock
// sample. Every array equals in every bit the arrays that kernels/tape/tape.cpp and oracle/oracle.cpp fill; their
// comments define the quantities. Plain pointers into the backend's buffers, which host/lanes/devices/preparer.hpp lays
// out. kName is the stage in profiles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/base/team.hpp"
#include "kernels/tape/formulas.hpp"
#include "kernels/tape/shock_projection.hpp"

namespace pandora::prepare {

/// How many elements an item of an elementwise body takes: one per thread of a block.
inline constexpr int kPerItem = 256;

/// The number of items of kPerItem elements that cover n.
constexpr int items_of(std::size_t n) {
  return static_cast<int>((n + kPerItem - 1) / kPerItem);
}

/// The elements of an item, out of n.
struct ItemRange {
  std::size_t begin, end;
  PANDORA_HD ItemRange(int item, std::size_t n)
      : begin(static_cast<std::size_t>(item) * kPerItem), end(begin + kPerItem < n ? begin + kPerItem : n) {}
};

/// Marks a failure. Any member may find one; all members then read the flag to end early.
PANDORA_HD inline void raise_flag(int* flag) {
  PANDORA_ON_DEVICE(*static_cast<volatile int*>(flag) = 1,
                    std::atomic_ref<int>(*flag).store(1, std::memory_order_relaxed));
}
PANDORA_HD inline bool is_raised(int* flag) {
  return PANDORA_ON_DEVICE(*static_cast<volatile int*>(flag),
                           std::atomic_ref<int>(*flag).load(std::memory_order_relaxed)) != 0;
}

/// Consecutive rows whose contexts, shocks and rewards come from the same streams.
struct RowSegment {
  int first_row;
  std::uint32_t first_period;  ///< of first_row
  bool rewarded;               ///< false for x_0
  Stream context, shock, reward;
  int periods = 1 << 30;  ///< after so many rows the same periods come again, with the outputs of the next openings

  PANDORA_HD std::uint32_t period(int row) const {
    return first_period + static_cast<std::uint32_t>((row - first_row) % periods);
  }
  PANDORA_HD std::uint32_t opening(int row) const { return static_cast<std::uint32_t>((row - first_row) / periods); }
};

/// Up to three segments, in order of their rows; segments without rows are allowed.
struct RowSegments {
  int count = 0;
  RowSegment segment[3];

  PANDORA_HD const RowSegment& of(int row) const {
    int k = count - 1;
    while (row < segment[k].first_row) --k;
    return segment[k];
  }
};

/// The arrays of a replication's contexts, row-major as in Contexts (kernels/tape/tape.hpp).
struct ContextArrays {
  int rows, boxes, reward_features, context, index_size, index_stride;
  int locations;          ///< L: 1 if all boxes share Q, A if each has its own
  float* psi;             ///< rows x index_stride: psi(x), then zeros
  float* reward_context;  ///< rows x L x d: Q x
  double* reward_shift;   ///< rows x L: theta_*' Q x, the l of (eq:sigma)
  double* scale;          ///< rows x A: s_a(x) = 0.5 + G(alpha_a' x)
  double* context_cost;   ///< rows x A: c_{0,a} G(beta_{0,a}' x); after BalanceCosts the whole of c_a(x)
  double* index;          ///< rows x A: Lambda(rho_a' psi(x)); null where costs are drawn

  PANDORA_HD std::size_t location_at(std::size_t row, std::size_t box) const {
    return row * static_cast<std::size_t>(locations) + (locations == 1 ? 0 : box);
  }
};

/// Draws contexts and everything that depends on them alone. Item: row; a warp each.
struct DrawContexts {
  static constexpr const char* kName = "contexts";

  RowSegments segments;
  ContextArrays out;
  IndexFeatures features;
  bool contextual;
  const double *theta, *c0;  ///< d; A
  const double* intercept;   ///< A: of rho_a, where indices are drawn
  const float* maps;  ///< d_x x outputs(), coordinate-major: Q, alpha, beta_0 and, where indices are drawn, rho_a

  PANDORA_HD static int outputs(int locations, int d, int boxes, bool linear) {
    return locations * d + (linear ? 3 : 2) * boxes;
  }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const std::size_t row = static_cast<std::size_t>(item);
    const int n = out.context, d = out.reward_features, A = out.boxes;
    const RowSegment& segment = segments.of(item);
    float* const psi = out.psi + row * out.index_stride;
    const float* const x = psi + 1;
    if (team.rank() == 0) psi[0] = 1.0f;
    for (int block = team.rank(); 4 * block < n; block += team.size()) {
      std::uint32_t words[4][1];
      philox<1>(segment.context, {static_cast<std::uint32_t>(block)}, {segment.period(item)}, {0}, words);
      for (int k = 0, j = 4 * block; k < 4 && j < n; ++k, ++j)
        add_index_features(features, n, j, signed_uniform(words[k][0]), psi);
    }
    for (int j = out.index_size + team.rank(); j < out.index_stride; j += team.size()) psi[j] = 0.0f;
    team.sync();
    const int count = outputs(out.locations, d, A, out.index != nullptr);
    for (int p = team.rank(); p < count; p += team.size()) {
      float sum = 0.0f;
      for (int j = 0; contextual && j < n; ++j) sum = fused(maps[static_cast<std::size_t>(j) * count + p], x[j], sum);
      store(row, p, sum);
    }
    team.sync();
    for (int location = team.rank(); location < out.locations; location += team.size()) {
      const std::size_t at = out.location_at(row, static_cast<std::size_t>(location));
      double shift = 0.0;
      for (int k = 0; contextual && k < d; ++k) shift += theta[k] * static_cast<double>(out.reward_context[at * d + k]);
      out.reward_shift[at] = shift;
    }
  }

 private:
  PANDORA_HD void store(std::size_t row, int p, float mapped) const {
    const int located = out.locations * out.reward_features, A = out.boxes;
    if (p < located) {
      out.reward_context[row * located + p] = mapped;
      return;
    }
    const int a = (p - located) % A;
    if (p < located + A)
      out.scale[row * A + a] = shock_scale_of(mapped, contextual);
    else if (p < located + 2 * A)
      out.context_cost[row * A + a] = context_cost_of(c0[a], mapped, contextual);
    else
      out.index[row * A + a] = linear_index_of(intercept[a], mapped);
  }
};

/// Sets the costs for which the indices are the drawn ones: c_a(x) = E[(mu* - Lambda(rho_a' psi(x)))^+ | x]. Item:
/// kPerItem of the rows x A cells; a block each.
struct BalanceCosts {
  static constexpr const char* kName = "balance";

  ContextArrays contexts;
  const double* quantiles;  ///< count: Instance::shock_quantiles
  int count;
  RewardLink link;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const std::size_t A = static_cast<std::size_t>(contexts.boxes);
    const ItemRange cells(item, static_cast<std::size_t>(contexts.rows) * A);
    for (std::size_t at = cells.begin + team.rank(); at < cells.end; at += team.size())
      contexts.context_cost[at] =
          expected_excess(quantiles, count, contexts.reward_shift[contexts.location_at(at / A, at % A)],
                          contexts.scale[at], contexts.index[at], link);
  }
};

/// A truncated law of whole shock vectors.
struct ShockLaw {
  CoordinateLaw law;
  float scale;
  float squared_radius;
  int output_size;  ///< d_w
  int* failed;      ///< raised if a vector falls outside the ball in all attempts

  /// Draws the first vector inside the ball. Returns false once some vector has failed, because the results are then of
  /// no use.
  PANDORA_HD bool draw(const Stream& stream, std::uint32_t period, std::uint32_t box, const float* linear, int n_linear,
                       const float* absolute, int n_absolute, ProjectedShocks<1>& out) const {
    for (std::uint32_t attempt = 0;; ++attempt) {
      out.draw(law, scale, output_size, stream, linear, n_linear, absolute, n_absolute, {attempt}, {period}, {box});
      if (out.squared_norm[0] <= squared_radius) return true;
      if (attempt == kMostAttempts) raise_flag(failed);
      if (is_raised(failed)) return false;
    }
  }
};

/// The arrays of a tape's outputs, row-major as in Tape (kernels/tape/tape.hpp).
struct OutputArrays {
  float* phi;         ///< rows x A x d: phi(x, omega_a) = Q x + D omega_a
  double *mu, *cost;  ///< rows x A: (eq:reward:function); c_a(x, omega_a)
  float* reward;      ///< rows x A
};

/// Draws the outputs of all boxes. Item: kPerItem of the rows x A cells; a block each.
struct DrawOutputs {
  static constexpr const char* kName = "outputs";

  RowSegments segments;
  ContextArrays contexts;
  OutputArrays out;
  ShockLaw law;
  bool contextual;
  const double *theta, *c1;  ///< d; A
  const float* D;            ///< d_w x d, coordinate-major
  const float* beta1;        ///< A x d_w
  RewardLink link;
  Stream cost_stream;
  double cost_tail;  ///< infinite: none

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange cells(item, static_cast<std::size_t>(contexts.rows) * contexts.boxes);
    for (std::size_t at = cells.begin + team.rank(); at < cells.end; at += team.size()) draw(at);
  }

 private:
  PANDORA_HD void draw(std::size_t at) const {
    const int A = contexts.boxes, d = contexts.reward_features;
    const int row = static_cast<int>(at / A), a = static_cast<int>(at % A);
    const std::uint32_t box = static_cast<std::uint32_t>(a);
    const RowSegment& segment = segments.of(row);
    const std::uint32_t place = draw_place(box, segment.opening(row));
    ProjectedShocks<1> shock;
    if (!law.draw(segment.shock, segment.period(row), place, D, d,
                  beta1 + static_cast<std::size_t>(a) * law.output_size, contextual ? 1 : 0, shock))
      return;
    const double scale = contexts.scale[at];
    const double mu =
        output_features(contexts.reward_context + contexts.location_at(static_cast<std::size_t>(row), box) * d,
                        shock.linear[0], scale, theta, d, link, out.phi + at * d);
    out.mu[at] = mu;
    const double cost =
        output_cost_of(contexts.context_cost[at], c1[a], scale, contextual ? shock.absolute[0][0] : 0.0f, contextual);
    out.cost[at] =
        cost_tail < kNoTail
            ? cost * cost_factor(cost_stream, cost_tail,
                                 static_cast<std::uint32_t>(&segment - segments.segment) + segment.opening(row),
                                 segment.period(row), box)
            : cost;
    out.reward[at] = segment.rewarded ? reward_of(segment.reward, segment.period(row), place, mu) : 0.0f;
  }
};

/// Draws projected shocks for the oracle's sample or for the radius. Item: kPerItem of the M samples; a block each.
struct DrawSample {
  static constexpr const char* kName = "sample";

  Stream stream;
  ShockLaw law;
  int samples, boxes;      ///< M; projections on beta_1: A, or 0
  int cycle;               ///< 0: all draws belong to box 0; A: draw i belongs to box i mod A
  const float* direction;  ///< d_w: D' theta_* / ||D' theta_*||, or D' u
  const float* beta1;      ///< d_w x boxes, coordinate-major
  float* projected;        ///< M: w of (eq:sigma), in the order of the draws
  float* cost_terms;       ///< boxes x M: beta_{1,a}' |xi|

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const std::size_t M = static_cast<std::size_t>(samples);
    const ItemRange range(item, M);
    for (std::size_t i = range.begin + team.rank(); i < range.end; i += team.size()) {
      ProjectedShocks<1> shock;
      const std::uint32_t box = cycle == 0 ? 0 : static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(cycle);
      if (!law.draw(stream, static_cast<std::uint32_t>(i), box, direction, 1, beta1, boxes, shock)) return;
      projected[i] = shock.linear[0][0];
      for (int a = 0; a < boxes; ++a) cost_terms[a * M + i] = shock.absolute[a][0];
    }
  }
};

/// |u' phi(x, omega_a)| for pooled draws, from contexts drawn with theta_* = u (calibrate_radius of
/// host/lanes/model/draw_instance.cpp). Item: kPerItem of `count` draws; a block each.
struct PooledMagnitudes {
  static constexpr const char* kName = "radius";

  ContextArrays contexts;  ///< of draws first .. first + count
  int first, count;
  const float* projected;  ///< all draws: u' D xi
  double* magnitude;       ///< all draws

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange draws(item, static_cast<std::size_t>(count));
    const std::size_t A = static_cast<std::size_t>(contexts.boxes);
    for (std::size_t i = draws.begin + team.rank(); i < draws.end; i += team.size()) {
      const std::size_t draw = static_cast<std::size_t>(first) + i;
      const double value = contexts.reward_shift[contexts.location_at(i, draw % A)] +
                           contexts.scale[i * A + draw % A] * static_cast<double>(projected[draw]);
      magnitude[draw] = value < 0.0 ? -value : value;
    }
  }
};

}  // namespace pandora::prepare
