#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>

namespace pandora {

IndexInputs index_inputs(const Instance& instance, const ShockSample& sample, const Contexts& contexts, int first_row) {
  const auto first = contexts.scale.begin() + static_cast<std::ptrdiff_t>(first_row) * contexts.boxes;
  const auto [least, greatest] = std::minmax_element(first, contexts.scale.end());
  const OracleTable table{
      sample.projection_norm, OutputCostTable(sample, contexts.boxes, *least, *greatest), {}, std::nullopt};
  return table.inputs(instance, contexts, first_row);
}

std::vector<double> oracle_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                   const OracleOptions& options, int first_row) {
  if (instance.linear_indices()) return OracleTable::drawn_indices(contexts, first_row);
  return oracle_table(instance, sample, contexts, options, first_row).indices(instance, contexts, first_row);
}

GridErrors grid_errors(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                       const OracleOptions& options, int solves) {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), n = contexts.scale.size();
  const std::vector<double> sigma = oracle_indices(instance, sample, contexts, options);
  const IndexInputs inputs = index_inputs(instance, sample, contexts);
  const ProjectedLaw exact_law = empirical_law(sample.projected, sample.link), bins = grid_law(sample, options);
  ReservationSolver exact(exact_law), compressed(bins);
  GridErrors errors;
  errors.solves = solves;
  for (int i = 0; i < solves; ++i) {
    const std::size_t at = (static_cast<std::size_t>(i) * 2654435761u) % n;  // spreads over rows and boxes
    const double shift = contexts.reward_shift[contexts.location_at(at / A, static_cast<int>(at % A))];
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
