// The preparation of a replication on a backend (host/lanes/engine/run_lanes.hpp): the bodies of kernels/tape/ and
// oracle/, in order. The tape equals the CPU's in every bit; oracle indices differ from the CPU's by the order of
// summation.
//
// Besides the functions that run_lanes needs, the backend must have slots(), the number of teams of blocks that run at
// the same time, and sort_descending(float* p, n), which sorts in order with all other launches.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "host/lanes/devices/workspace.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "kernels/base/arena.hpp"
#include "kernels/tape/bodies.hpp"
#include "oracle/bodies.hpp"
#include "oracle/oracle.hpp"

namespace pandora::prepare {

/// Prepares replications one after the other on a backend. It keeps its memory between them, because freeing it would
/// make a GPU wait for everything that runs there. Throws OutOfMemory.
template <class Backend>
class Preparer {
 public:
  explicit Preparer(Backend& backend) : backend_(backend) {}

  /// Like prepare_on_cpu (host/studies/sweep/prepare_replication.hpp).
  Replication prepare(const Preparation& from, OrderFrequencies* order) {
    const ReplicationRequest& request = from.request;
    const int tape_rows = from.tape ? 1 + request.calibration_periods + request.actions.openings * request.periods : 0;
    const int rows = std::max(tape_rows, order != nullptr ? from.order_contexts : 0);
    Replication replication;
    replication.instance = draw_instance(request.dimensions, request.environment, request.regime, request.replication,
                                         request.seed, [&](const Instance& instance) {
                                           start(instance, rows, request.oracle);
                                           return calibrate_radius();
                                         });
    start(replication.instance, rows, request.oracle);
    if (!replication.instance.linear_indices()) draw_sample();  // linear indices need no sample
    if (order != nullptr) *order = order_frequencies(from.order_contexts);
    if (from.tape) {
      replication.tape = draw_tape(request.calibration_periods, request.periods, request.actions.openings);
      replication.sigma = indices(replication.tape.online_row(0));
      apply_box_changes(request.environment, false, replication);
      draw_feedback(replication.instance.stream(Purpose::feedback), request.feedback, replication.tape);
      replication.actions = request.actions;
      if (request.actions.uninspected) decide_benchmarks(sample(), request.oracle, replication);
    }
    return replication;
  }

  // The parts of prepare(), in the order in which they may be called. `instance` must outlive them.

  /// Allocates memory for at most `rows` contexts at a time.
  void start(const Instance& instance, int rows, const OracleOptions& oracle) {
    instance_ = &instance;
    oracle_ = oracle;
    capacity_rows_ = std::max(rows, kRadiusRows);
    Arena measure;
    Workspace(measure, instance, capacity_rows_, oracle, backend_.slots());
    if (capacity_ < measure.used()) {
      capacity_ = 0;
      memory_ = {};  // frees it before more is asked for
      memory_ = backend_.allocate(measure.used());
      capacity_ = measure.used();
    }
    backend_.forget(memory_.get(), capacity_);
    Arena arena(memory_.get());
    at_ = Workspace(arena, instance, capacity_rows_, oracle, backend_.slots());
    upload_parameters();
  }

  /// Like pandora::calibrate_radius, for the direction that stands in theta_*'s place in the instance given to start().
  double calibrate_radius() {
    const Instance& instance = *instance_;
    const Dimensions& dim = instance.dimensions;
    std::vector<float> direction;
    for (const double value : output_direction(instance, instance.theta))
      direction.push_back(static_cast<float>(value));
    put(at_.direction, direction);
    backend_.zero(at_.failed, sizeof(int));
    const int draws = dim.radius_draws;
    backend_.blocks(items_of(static_cast<std::size_t>(draws)),
                    DrawSample{instance.stream(Purpose::radius_shock), shock_law(), draws, 0, dim.boxes, at_.direction,
                               at_.sample_beta1, at_.pooled, at_.cost_terms});
    end_if_rejected();
    std::vector<double> magnitude;
    if (instance.contextual()) {
      const Stream stream = instance.stream(Purpose::radius_context);
      for (int first = 0; first < draws; first += capacity_rows_) {
        const int count = std::min(capacity_rows_, draws - first);
        RowSegments segments;
        segments.segment[segments.count++] = {0, static_cast<std::uint32_t>(first), false, stream, stream, stream};
        draw_contexts(segments, count);
        backend_.blocks(items_of(static_cast<std::size_t>(count)),
                        PooledMagnitudes{at_.contexts, first, count, at_.pooled, at_.magnitude});
      }
      fetch(magnitude, at_.magnitude, static_cast<std::size_t>(draws));
    } else {
      std::vector<float> projected;
      fetch(projected, at_.pooled, static_cast<std::size_t>(draws));
      for (const float value : projected) magnitude.push_back(std::abs(static_cast<double>(value)));
    }
    return radius_of(magnitude);
  }

  /// Like draw_shock_sample, but the sample stays on the backend.
  void draw_sample() {
    const Instance& instance = *instance_;
    const int boxes = instance.contextual() ? instance.dimensions.boxes : 0;
    const std::size_t M = static_cast<std::size_t>(oracle_.samples);
    const std::vector<double> direction = output_direction(instance, instance.theta);
    at_.law.link = instance.environment.reward_link;
    projection_norm_ = 0.0;
    for (const double value : direction) projection_norm_ += value * value;
    projection_norm_ = std::sqrt(projection_norm_);
    std::vector<float> unit;
    for (const double value : direction) unit.push_back(static_cast<float>(value / projection_norm_));
    put(at_.direction, unit);
    backend_.zero(at_.failed, sizeof(int));
    backend_.blocks(items_of(M), DrawSample{instance.stream(Purpose::oracle_shock), shock_law(), oracle_.samples, boxes,
                                            0, at_.direction, at_.sample_beta1, at_.projected, at_.cost_terms});
    end_if_rejected();
    backend_.sort_descending(at_.projected, M);
    const int items = (at_.law.size + CompressSample::kBinsPerItem - 1) / CompressSample::kBinsPerItem;
    backend_.warps(items, CompressSample{at_.projected, oracle_.samples, at_.law});
  }

  /// The sample that draw_sample left on the backend.
  ShockSample sample() const {
    const std::size_t M = static_cast<std::size_t>(oracle_.samples);
    ShockSample out;
    out.projection_norm = projection_norm_;
    out.link = instance_->environment.reward_link;
    fetch(out.projected, at_.projected, M);
    out.cost_terms.resize(instance_->contextual() ? static_cast<std::size_t>(instance_->dimensions.boxes) : 0);
    for (std::size_t a = 0; a < out.cost_terms.size(); ++a) fetch(out.cost_terms[a], at_.cost_terms + a * M, M);
    return out;
  }

  /// Like order_frequencies. The indices come from the backend; their orders are counted here.
  OrderFrequencies order_frequencies(int contexts) {
    const Stream stream = instance_->stream(Purpose::order_context);
    RowSegments segments;
    segments.segment[segments.count++] = {0, 0, false, stream, stream, stream};
    draw_contexts(segments, contexts);
    return count_orders(indices(0), instance_->dimensions.boxes);
  }

  /// Like pandora::draw_tape.
  Tape draw_tape(int calibration_periods, int periods, int openings = 1) {
    const auto segment = [this](int first_row, bool rewarded, Purpose context, Purpose shock, Purpose reward) {
      return RowSegment{
          first_row, 0, rewarded, instance_->stream(context), instance_->stream(shock), instance_->stream(reward)};
    };
    RowSegments segments;
    segments.segment[segments.count++] =
        segment(0, false, Purpose::initial_context, Purpose::initial_shock, Purpose::initial_shock);
    segments.segment[segments.count++] =
        segment(1, true, Purpose::calibration_context, Purpose::calibration_shock, Purpose::calibration_reward);
    segments.segment[segments.count++] =
        segment(1 + calibration_periods, true, Purpose::online_context, Purpose::online_shock, Purpose::online_reward);
    segments.segment[2].periods = periods;
    draw_contexts(segments, 1 + calibration_periods + openings * periods);
    backend_.zero(at_.failed, sizeof(int));
    backend_.blocks(items_of(cells()),
                    DrawOutputs{segments, at_.contexts, at_.outputs, shock_law(true), instance_->contextual(),
                                at_.theta, at_.c1, at_.D, at_.beta1, instance_->environment.reward_link,
                                instance_->stream(Purpose::cost_factor), instance_->environment.cost_tail});
    end_if_rejected();
    Tape tape;
    tape.calibration_rows = calibration_periods;
    tape.online_rows = periods;
    fetch_contexts(tape.contexts);
    fetch(tape.phi, at_.outputs.phi, cells() * instance_->dimensions.reward_features);
    fetch(tape.mu, at_.outputs.mu, cells());
    fetch(tape.cost, at_.outputs.cost, cells());
    fetch(tape.reward, at_.outputs.reward, cells());
    return tape;
  }

  /// Like oracle_indices, for the contexts that were drawn last.
  std::vector<double> indices(int first_row) {
    std::vector<double> sigma(cells(), std::numeric_limits<double>::quiet_NaN());
    const std::size_t first = static_cast<std::size_t>(first_row) * instance_->dimensions.boxes;
    if (instance_->linear_indices())
      backend_.download(sigma.data() + first, at_.contexts.index + first, (cells() - first) * sizeof(double));
    else if (instance_->contextual())
      interpolated_indices(first_row, sigma.data() + first);
    else
      constant_indices(sigma.data() + first, cells() - first);
    return sigma;
  }

 private:
  static constexpr int kRadiusRows = 8192;  // contexts per round for the radius, at least

  std::size_t cells() const {
    return static_cast<std::size_t>(at_.contexts.rows) * static_cast<std::size_t>(at_.contexts.boxes);
  }
  template <class T>
  void put(T* to, const std::vector<T>& from) {
    backend_.upload(to, from.data(), from.size() * sizeof(T));
  }
  template <class Vector, class T>
  void fetch(Vector& to, const T* from, std::size_t n) const {
    to.resize(n);
    backend_.download(to.data(), from, n * sizeof(T));
  }

  void upload_parameters() {
    const Instance& instance = *instance_;
    const Dimensions& dim = instance.dimensions;
    const int A = dim.boxes, d = dim.reward_features;
    put(at_.theta, instance.theta);
    put(at_.c0, instance.c0);
    put(at_.c1, instance.c1);
    if (instance.linear_indices()) {
      std::vector<double> intercept;
      for (int a = 0; a < A; ++a)
        intercept.push_back(instance.rho[static_cast<std::size_t>(a) * static_cast<std::size_t>(dim.index_size())]);
      put(at_.intercept, intercept);
      put(at_.quantiles, instance.shock_quantiles);
    }
    const std::vector<double> maps = context_maps(instance);
    put(at_.maps, coordinate_major(maps, static_cast<int>(maps.size()) / dim.context, dim.context));
    put(at_.D, coordinate_major(instance.D, d, dim.output));
    put(at_.beta1, std::vector<float>(instance.beta1.begin(), instance.beta1.end()));
    put(at_.sample_beta1, coordinate_major(instance.beta1, A, dim.output));
  }

  ShockLaw shock_law(bool of_tape = false) const {
    const Environment& environment = instance_->environment;
    return {coordinate_law(environment, of_tape), environment.shock_scale,
            environment.truncation_radius * environment.truncation_radius, instance_->dimensions.output, at_.failed};
  }

  void end_if_rejected() {
    int failed = 0;
    backend_.download(&failed, at_.failed, sizeof failed);
    if (failed != 0) throw rejects_nearly_all(instance_->environment);
  }

  void draw_contexts(const RowSegments& segments, int rows) {
    at_.contexts.rows = rows;
    backend_.warps(rows, DrawContexts{segments, at_.contexts, instance_->dimensions.index_features,
                                      instance_->contextual(), at_.theta, at_.c0, at_.intercept, at_.maps});
    const int quantiles = static_cast<int>(instance_->shock_quantiles.size());
    if (quantiles > 0)
      backend_.blocks(items_of(cells()),
                      BalanceCosts{at_.contexts, at_.quantiles, quantiles, instance_->environment.reward_link});
  }

  void fetch_contexts(Contexts& out) const {
    const ContextArrays& from = at_.contexts;
    const std::size_t rows = static_cast<std::size_t>(from.rows);
    out.rows = from.rows;
    out.boxes = from.boxes;
    out.index_size = from.index_size;
    out.index_stride = from.index_stride;
    out.reward_features = from.reward_features;
    out.locations = from.locations;
    fetch(out.psi, from.psi, rows * from.index_stride);
    fetch(out.reward_context, from.reward_context, out.location_at(rows, 0) * from.reward_features);
    fetch(out.reward_shift, from.reward_shift, out.location_at(rows, 0));
    fetch(out.scale, from.scale, cells());
    fetch(out.context_cost, from.context_cost, cells());
    if (from.index != nullptr) fetch(out.index, from.index, cells());
  }

  // Regime A: one exact solve per box on the whole sample. The index is the same in all rows, since s = 1 and l = 0.
  void constant_indices(double* sigma, std::size_t n) {
    const std::size_t A = static_cast<std::size_t>(instance_->dimensions.boxes);
    std::vector<double> cost(A), solved(A);
    for (std::size_t a = 0; a < A; ++a) cost[a] = 0.5 * instance_->c0[a] + instance_->c1[a] * 0.5;
    put(at_.expected_cost, cost);
    double* const g = at_.law_scratch;
    const std::size_t size = static_cast<std::size_t>(at_.law.size);
    const LinkedLaw linked{at_.law, g, g + size, g + 2 * size};
    backend_.blocks(at_.law.chunks(), EvaluateChunk{linked, 0.0, projection_norm_});
    backend_.blocks(1, SolveCosts{linked, at_.expected_cost, static_cast<int>(A), at_.sigma});
    backend_.download(solved.data(), at_.sigma, A * sizeof(double));
    for (std::size_t i = 0; i < n; ++i) sigma[i] = solved[i % A];
  }

  // Regime B: the grid over the range of the rows from first_row on.
  void interpolated_indices(int first_row, double* sigma) {
    const int A = instance_->dimensions.boxes;
    const std::size_t first = static_cast<std::size_t>(first_row) * A, count = cells() - first;
    const std::size_t before = at_.contexts.location_at(static_cast<std::size_t>(first_row), 0);
    const double* const shift = at_.contexts.reward_shift + before;
    const double* const scale = at_.contexts.scale + first;
    const Range shifts = range(shift, at_.contexts.location_at(cells() / A, 0) - before), scales = range(scale, count);
    backend_.blocks(items_of(count), ExpectedCosts{output_costs(scales), scale, at_.contexts.context_cost + first,
                                                   at_.c1, A, count, at_.expected_cost});
    const Range costs = range(at_.expected_cost, count);
    // Multiplication by a positive number keeps the order even after rounding, so these are the least and greatest s~.
    const GridArrays grid{
        {GridAxis::over(oracle_.grid.shift, shifts.least, shifts.greatest),
         GridAxis::over(oracle_.grid.scale, scales.least * projection_norm_, scales.greatest * projection_norm_),
         GridAxis::over(oracle_.grid.cost, std::sqrt(costs.least), std::sqrt(costs.greatest))},
        at_.grid};
    backend_.blocks(grid.axes[0].nodes * grid.axes[1].nodes, SolveNodes{at_.law, grid, at_.law_scratch});
    backend_.blocks(items_of(count), InterpolateIndices{grid, projection_norm_, shift, scale, at_.expected_cost, A,
                                                        at_.contexts.locations, count, at_.sigma});
    backend_.download(sigma, at_.sigma, count * sizeof(double));
  }

  Range range(const double* values, std::size_t n) {
    backend_.blocks(items_of(StripRanges::kStrips), StripRanges{values, n, at_.extremes});
    std::vector<double> extremes;
    fetch(extremes, at_.extremes, 2 * StripRanges::kStrips);
    return Range::of(extremes);
  }

  OutputCosts output_costs(const Range& scales) {
    OutputCosts table{};
    table.nodes = ChebyshevNodes::over(scales.least, scales.greatest);
    const int pieces = OutputCostSums::pieces(oracle_.samples);
    const int nodes = instance_->dimensions.boxes * ChebyshevNodes::kNodes;
    backend_.blocks(nodes * pieces, OutputCostSums{at_.cost_terms, oracle_.samples, table.nodes, at_.strips, at_.sums});
    std::vector<double> sums;
    fetch(sums, at_.sums, static_cast<std::size_t>(nodes) * pieces);
    for (int node = 0; node < nodes; ++node) {
      double total = 0.0;
      for (int piece = 0; piece < pieces; ++piece) total += sums[static_cast<std::size_t>(node) * pieces + piece];
      table.values[node] = total / oracle_.samples;
    }
    return table;
  }

  Backend& backend_;
  decltype(std::declval<Backend&>().allocate(0)) memory_;
  std::size_t capacity_ = 0;  // of the memory
  const Instance* instance_ = nullptr;
  OracleOptions oracle_;
  Workspace at_;
  int capacity_rows_ = 0;
  double projection_norm_ = 0.0;  // ||D' theta_*||
};

}  // namespace pandora::prepare
