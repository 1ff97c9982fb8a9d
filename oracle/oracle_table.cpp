#include "oracle/oracle_table.hpp"

#include <algorithm>
#include <limits>

namespace pandora {

ProjectedLaw grid_law(const ShockSample& sample, const OracleOptions& options) {
  return options.bins == 0 ? empirical_law(sample.projected, sample.link)
                           : compressed_law(sample.projected, options.bins, sample.link);
}

IndexInputs OracleTable::inputs(const Instance& instance, const Contexts& contexts, int first_row) const {
  IndexInputs out;
  for (std::vector<double>* const values : {&out.shift, &out.scale, &out.cost})
    values->assign(contexts.scale.size(), std::numeric_limits<double>::quiet_NaN());
  const std::size_t A = static_cast<std::size_t>(contexts.boxes);
  for (std::size_t at = static_cast<std::size_t>(first_row) * A; at < contexts.scale.size(); ++at) {
    const int box = static_cast<int>(at % A);
    out.shift[at] = contexts.reward_shift[contexts.location_at(at / A, box)];
    out.scale[at] = contexts.scale[at] * projection_norm;
    out.cost[at] = contexts.context_cost[at] + instance.c1[box] * output_cost(box, contexts.scale[at]);
  }
  return out;
}

std::vector<double> OracleTable::drawn_indices(const Contexts& contexts, int first_row) {
  std::vector<double> out = contexts.index;
  std::fill_n(out.begin(), static_cast<std::size_t>(first_row) * static_cast<std::size_t>(contexts.boxes),
              std::numeric_limits<double>::quiet_NaN());
  return out;
}

std::vector<double> OracleTable::indices(const Instance& instance, const Contexts& contexts, int first_row) const {
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), first = static_cast<std::size_t>(first_row) * A;
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
  const std::size_t A = static_cast<std::size_t>(contexts.boxes), first = static_cast<std::size_t>(first_row) * A;
  const auto [least, greatest] =
      std::minmax_element(contexts.scale.begin() + static_cast<std::ptrdiff_t>(first), contexts.scale.end());
  OracleTable table{
      sample.projection_norm, OutputCostTable(sample, contexts.boxes, *least, *greatest), {}, std::nullopt};
  if (instance.linear_indices()) return table;
  const IndexInputs in = table.inputs(instance, contexts, first_row);
  if (!instance.contextual()) {
    const ProjectedLaw law = empirical_law(sample.projected, sample.link);
    ReservationSolver solver(law);
    solver.evaluate(0.0, in.scale[first]);
    for (std::size_t at = first; at < first + A; ++at) table.sigma.push_back(solver.index(in.cost[at]));
    return table;
  }
  Range shift = Range::of(in.shift[first]), scale = Range::of(in.scale[first]), cost = Range::of(in.cost[first]);
  for (std::size_t at = first; at < in.scale.size(); ++at) {
    shift.include(in.shift[at]);
    scale.include(in.scale[at]);
    cost.include(in.cost[at]);
  }
  const ProjectedLaw law = grid_law(sample, options);
  table.grid.emplace(law, options.grid, shift, scale, cost);
  return table;
}

}  // namespace pandora
