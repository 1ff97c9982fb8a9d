#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "kernels/base/lanes.hpp"
#include "kernels/tape/shock_projection.hpp"
#include "oracle/reservation_index.hpp"

namespace pandora {

namespace {

std::size_t first_cell(const Contexts& contexts, int first_row) {
  return static_cast<std::size_t>(first_row) * static_cast<std::size_t>(contexts.boxes);
}

// A table of expected costs, without indices, for the contexts from `first_row` on.
OracleTable table_of_costs(const ShockSample& sample, const Contexts& contexts, int first_row) {
  const auto [least, greatest] = Range::of(std::span(contexts.scale).subspan(first_cell(contexts, first_row)));
  return {sample.projection_norm, OutputCostTable(sample, contexts.boxes, least, greatest), {}, std::nullopt};
}

// The grid over the range of the cells from `first` on.
IndexGrid grid_over(const ProjectedLaw& law, const IndexInputs& in, GridShape shape, std::size_t first) {
  const auto range = [first](const std::vector<double>& all) { return Range::of(std::span(all).subspan(first)); };
  return IndexGrid(law, shape, range(in.shift), range(in.scale), range(in.cost));
}

}  // namespace

IndexInputs index_inputs(const Instance& instance, const ShockSample& sample, const Contexts& contexts, int first_row) {
  return table_of_costs(sample, contexts, first_row).inputs(instance, contexts, first_row);
}

std::vector<double> oracle_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                   const OracleOptions& options, int first_row) {
  if (instance.linear_indices()) return OracleTable::drawn_indices(contexts, first_row);
  return oracle_table(instance, sample, contexts, options, first_row).indices(instance, contexts, first_row);
}

std::vector<double> indices_of(const ShockSample& sample, const IndexInputs& inputs, const OracleOptions& options) {
  constexpr std::size_t kFew = 64;
  std::vector<double> out(inputs.cost.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<std::size_t> cells;  // cells of equal (l, s~) side by side
  for (std::size_t at = 0; at < out.size(); ++at)
    if (inputs.cost[at] >= 0.0) cells.push_back(at);
  const auto pair = [&](std::size_t at) { return std::pair(inputs.shift[at], inputs.scale[at]); };
  std::sort(cells.begin(), cells.end(), [&](std::size_t a, std::size_t b) { return pair(a) < pair(b); });
  std::size_t pairs = 0;
  for (std::size_t k = 0; k < cells.size(); ++k) pairs += k == 0 || pair(cells[k]) != pair(cells[k - 1]) ? 1u : 0u;
  const ProjectedLaw law = pairs > kFew ? grid_law(sample, options) : empirical_law(sample.projected, sample.link);
  ReservationSolver solver(law);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::size_t at = cells[k];
    if (k == 0 || pair(at) != pair(cells[k - 1])) solver.evaluate(inputs.shift[at], inputs.scale[at]);
    out[at] = inputs.cost[at] > 0.0 ? solver.index(inputs.cost[at]) : 1.0;
  }
  return out;
}

GridErrors grid_errors(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                       const OracleOptions& options, int solves) {
  const std::size_t n = contexts.scale.size();
  const std::vector<double> sigma = oracle_indices(instance, sample, contexts, options);
  const IndexInputs inputs = index_inputs(instance, sample, contexts);
  const ProjectedLaw exact_law = empirical_law(sample.projected, sample.link), bins = grid_law(sample, options);
  ReservationSolver exact(exact_law), compressed(bins);
  GridErrors errors;
  errors.solves = solves;
  for (int i = 0; i < solves; ++i) {
    const std::size_t at = (static_cast<std::size_t>(i) * 2654435761u) % n;  // spreads over rows and boxes
    exact.evaluate(inputs.shift[at], inputs.scale[at]);
    compressed.evaluate(inputs.shift[at], inputs.scale[at]);
    const double truth = exact.index(inputs.cost[at]);
    const double grid_error = std::abs(sigma[at] - truth);
    const double compression_error = std::abs(compressed.index(inputs.cost[at]) - truth);
    errors.grid_max = std::max(errors.grid_max, grid_error);
    errors.compression_max = std::max(errors.compression_max, compression_error);
    errors.grid_rms += grid_error * grid_error / solves;
    errors.compression_rms += compression_error * compression_error / solves;
    errors.mean_standard_error += exact.standard_error(truth) / solves;
    errors.negative_share += (truth < 0.0 ? 1.0 : 0.0) / solves;
  }
  errors.grid_rms = std::sqrt(errors.grid_rms);
  errors.compression_rms = std::sqrt(errors.compression_rms);
  return errors;
}

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
        float value[kStrip];
        for_lanes<kStrip>([&](int k, auto& fused)
                              PANDORA_INLINED { value[k] = logistic(scale * terms[i + k], fused); });
        PANDORA_SIMD
        for (std::size_t k = 0; k < kStrip; ++k) sums[k] += static_cast<double>(value[k]);
      }
      for (; i < terms.size(); ++i) sums[0] += static_cast<double>(logistic(scale * terms[i]));
      double total = 0.0;
      for (double s : sums) total += s;
      values_[static_cast<std::size_t>(a) * kNodes + node] = total / static_cast<double>(terms.size());
    }
}

ProjectedLaw grid_law(const ShockSample& sample, const OracleOptions& options) {
  return options.bins == 0 ? empirical_law(sample.projected, sample.link)
                           : compressed_law(sample.projected, options.bins, sample.link);
}

IndexInputs no_inputs(const Contexts& contexts) {
  const std::vector<double> none(contexts.scale.size(), std::numeric_limits<double>::quiet_NaN());
  return {none, none, none};
}

void fill_inputs(const Instance& instance, const Contexts& contexts, const OutputCostTable& output_cost,
                 double projection_norm, std::size_t first, std::size_t last, IndexInputs& out) {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes);
  for (std::size_t at = first; at < last; ++at) {
    const int box = static_cast<int>(at % A);
    out.shift[at] = contexts.reward_shift[contexts.location_at(at / A, box)];
    out.scale[at] = contexts.scale[at] * projection_norm;
    out.cost[at] = contexts.context_cost[at] + instance.c1[box] * output_cost(box, contexts.scale[at]);
  }
}

IndexInputs OracleTable::inputs(const Instance& instance, const Contexts& contexts, int first_row) const {
  IndexInputs out = no_inputs(contexts);
  fill_inputs(instance, contexts, output_cost, projection_norm, first_cell(contexts, first_row), contexts.scale.size(),
              out);
  return out;
}

std::vector<double> OracleTable::drawn_indices(const Contexts& contexts, int first_row) {
  std::vector<double> out = contexts.index;
  std::fill_n(out.begin(), first_cell(contexts, first_row), std::numeric_limits<double>::quiet_NaN());
  return out;
}

std::vector<double> OracleTable::indices(const Instance& instance, const Contexts& contexts, int first_row) const {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), first = first_cell(contexts, first_row);
  if (!contexts.index.empty()) return drawn_indices(contexts, first_row);
  std::vector<double> out(contexts.scale.size(), std::numeric_limits<double>::quiet_NaN());
  if (!grid) {
    for (std::size_t at = first; at < out.size(); ++at) out[at] = sigma[at % A];
    return out;
  }
  const IndexInputs in = inputs(instance, contexts, first_row);
  for (std::size_t at = first; at < out.size(); ++at) out[at] = (*grid)(in.shift[at], in.scale[at], in.cost[at]);
  return out;
}

OracleTable oracle_table(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                         const OracleOptions& options, int first_row) {
  const std::size_t first = first_cell(contexts, first_row);
  OracleTable table = table_of_costs(sample, contexts, first_row);
  if (instance.linear_indices()) return table;
  const IndexInputs in = table.inputs(instance, contexts, first_row);
  if (!instance.contextual()) {
    const ProjectedLaw law = empirical_law(sample.projected, sample.link);
    ReservationSolver solver(law);
    solver.evaluate(0.0, in.scale[first]);
    for (std::size_t at = first; at < first + contexts.boxes; ++at) table.sigma.push_back(solver.index(in.cost[at]));
    return table;
  }
  table.grid = grid_over(grid_law(sample, options), in, options.grid, first);
  return table;
}

std::vector<double> interpolated_indices(const ProjectedLaw& law, const IndexInputs& inputs, GridShape shape,
                                         std::size_t first) {
  const IndexGrid grid = grid_over(law, inputs, shape, first);
  std::vector<double> out(inputs.scale.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t at = first; at < out.size(); ++at)
    out[at] = grid(inputs.shift[at], inputs.scale[at], inputs.cost[at]);
  return out;
}

IndexGrid::IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost)
    : axes_{GridAxis::over(shape.shift, shift.least, shift.greatest),
            GridAxis::over(shape.scale, scale.least, scale.greatest),
            GridAxis::over(shape.cost, std::sqrt(cost.least), std::sqrt(cost.greatest))} {
  values_.reserve(static_cast<std::size_t>(shape.shift) * shape.scale * shape.cost);
  ReservationSolver solver(law);
  for (int i = 0; i < shape.shift; ++i)
    for (int j = 0; j < shape.scale; ++j) {
      solver.evaluate(axes_[0].node(i), axes_[1].node(j));
      for (int k = 0; k < shape.cost; ++k) {
        const double root = axes_[2].node(k);
        values_.push_back(solver.index(root * root));
      }
    }
}

ProjectedLaw empirical_law(const std::vector<float>& descending, RewardLink link) {
  return compressed_law(descending, static_cast<int>(descending.size()), link);
}

ProjectedLaw compressed_law(const std::vector<float>& descending, int bins, RewardLink link) {
  const std::size_t n = descending.size(), k = std::min(n, static_cast<std::size_t>(bins));
  ProjectedLaw law;
  law.link = link;
  law.points.resize(k);
  law.cumulative.resize(k);
  for (std::size_t bin = 0; bin < k; ++bin)
    quantile_bin(descending.data(), n, k, bin, law.points[bin], law.cumulative[bin]);
  return law;
}

double index_of_values(std::span<const double> values, double cost, std::span<const double> weights) {
  std::vector<std::size_t> order;
  double total = 0.0;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  for (std::size_t i = 0; i < values.size(); ++i)
    if (weight(i) > 0.0) {
      order.push_back(i);
      total += weight(i);
    }
  if (!(cost >= 0.0) || order.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto above = [&](std::size_t a, std::size_t b) { return values[a] > values[b]; };
  if (!std::is_sorted(order.begin(), order.end(), above)) std::sort(order.begin(), order.end(), above);
  std::vector<double> sorted, cumulative, partial;
  for (const std::size_t i : order) {
    const double p = weight(i) / total;
    sorted.push_back(values[i]);
    cumulative.push_back((cumulative.empty() ? 0.0 : cumulative.back()) + p);
    partial.push_back((partial.empty() ? 0.0 : partial.back()) + p * values[i]);
  }
  return reservation_index(
      sorted.data(), cumulative.data(), static_cast<int>(sorted.size()), [&](int i) { return partial[i]; }, cost);
}

double ReservationSolver::standard_error(double sigma) const {
  double sum = 0.0, squares = 0.0, above = 0.0;
  for (std::size_t i = 0; i < g_.size() && g_[i] > sigma; ++i) {
    const double p = law_->cumulative[i] - above;
    sum += p * (g_[i] - sigma);
    squares += p * (g_[i] - sigma) * (g_[i] - sigma);
    above = law_->cumulative[i];
  }
  return std::sqrt(squares - sum * sum) / (above * std::sqrt(static_cast<double>(g_.size())));
}

}  // namespace pandora
