#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

std::vector<double> indices_of(const ShockSample& sample, const IndexInputs& inputs, const OracleOptions& options) {
  constexpr std::size_t kFew = 64;
  std::vector<double> out(inputs.cost.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<std::size_t> cells;  // equal (l, s~) beside each other
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

}  // namespace pandora
