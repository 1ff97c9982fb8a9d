#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pandora {
namespace {

ProjectedLaw grid_law(const ShockSample& sample, const OracleOptions& options) {
  return options.bins == 0 ? empirical_law(sample.projected) : compressed_law(sample.projected, options.bins);
}

}  // namespace

IndexInputs index_inputs(const Instance& instance, const ShockSample& sample, const Contexts& contexts, int first_row) {
  const std::size_t first = static_cast<std::size_t>(first_row) * contexts.boxes;
  const auto [least, greatest] =
      std::minmax_element(contexts.scale.begin() + static_cast<std::ptrdiff_t>(first), contexts.scale.end());
  const OutputCostTable output_cost(sample, contexts.boxes, *least, *greatest);
  IndexInputs inputs;
  inputs.scale.resize(contexts.scale.size());
  inputs.cost.resize(contexts.scale.size());
  for (std::size_t at = first; at < contexts.scale.size(); ++at) {
    const int box = static_cast<int>(at % static_cast<std::size_t>(contexts.boxes));
    inputs.scale[at] = contexts.scale[at] * sample.projection_norm;
    inputs.cost[at] = contexts.context_cost[at] + instance.c1[box] * output_cost(box, contexts.scale[at]);
  }
  return inputs;
}

std::vector<double> oracle_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                   const OracleOptions& options, int first_row) {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), first = static_cast<std::size_t>(first_row) * A;
  std::vector<double> sigma(contexts.scale.size(), std::numeric_limits<double>::quiet_NaN());
  const IndexInputs inputs = index_inputs(instance, sample, contexts, first_row);
  if (!instance.contextual()) {
    const ProjectedLaw law = empirical_law(sample.projected);
    IndexSolver solver(law);
    solver.evaluate(0.0, inputs.scale[first]);
    for (std::size_t at = first; at < sigma.size(); ++at)
      sigma[at] = at < first + A ? solver.index(inputs.cost[at]) : sigma[at - A];
    return sigma;
  }
  Range shift = Range::of(contexts.reward_shift[first / A]), scale = Range::of(inputs.scale[first]),
        cost = Range::of(inputs.cost[first]);
  for (std::size_t at = first; at < sigma.size(); ++at) {
    shift.include(contexts.reward_shift[at / A]);
    scale.include(inputs.scale[at]);
    cost.include(inputs.cost[at]);
  }
  const ProjectedLaw law = grid_law(sample, options);
  const IndexGrid grid(law, options.grid, shift, scale, cost);
  for (std::size_t at = first; at < sigma.size(); ++at)
    sigma[at] = grid(contexts.reward_shift[at / A], inputs.scale[at], inputs.cost[at]);
  return sigma;
}

GridErrors grid_errors(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                       const OracleOptions& options, int solves) {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), n = contexts.scale.size();
  const std::vector<double> sigma = oracle_indices(instance, sample, contexts, options);
  const IndexInputs inputs = index_inputs(instance, sample, contexts);
  const ProjectedLaw exact_law = empirical_law(sample.projected), bins = grid_law(sample, options);
  IndexSolver exact(exact_law), compressed(bins);
  GridErrors errors;
  errors.solves = solves;
  for (int i = 0; i < solves; ++i) {
    const std::size_t at = (static_cast<std::size_t>(i) * 2654435761u) % n;  // spreads over rows and boxes
    const double shift = contexts.reward_shift[at / A];
    exact.evaluate(shift, inputs.scale[at]);
    compressed.evaluate(shift, inputs.scale[at]);
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

}  // namespace pandora
