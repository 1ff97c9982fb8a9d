#include "host/run/calibrate_cost.hpp"

#include <fmt/format.h>

#include "host/model/draw_instance.hpp"
#include "host/results/summary.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/sweep.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// One replication with costs per unit of u: everything that the oracle's queries depend on but u itself.
struct Draw {
  bool contextual;
  ProjectedLaw law;
  std::vector<double> shift;  // rows
  IndexInputs inputs;         // rows x A
  std::vector<double> mu;     // rows x A
};

double boxes_opened(const Draw& draw, int A, double u) {
  LaneSpec oracle;
  oracle.score = Score::oracle_index;
  ReservationSolver solver(draw.law);
  const int rows = static_cast<int>(draw.shift.size());
  std::vector<double> sigma(static_cast<std::size_t>(A));
  double queries = 0.0;
  for (int row = 1; row < rows; ++row) {  // row 0 is x_0
    const std::size_t first = static_cast<std::size_t>(row) * A;
    if (row == 1 || draw.contextual)
      for (int a = 0; a < A; ++a) {
        solver.evaluate(draw.shift[row], draw.inputs.scale[first + a]);
        sigma[a] = solver.index(u * draw.inputs.cost[first + a]);
      }
    queries += walk_period(oracle, A, sigma.data(), nullptr, [&](int a) { return draw.mu[first + a]; }).queried;
  }
  return queries / (rows - 1);
}

}  // namespace

CostSearchResult calibrate_cost(const Environment& environment, const CostSearch& search) {
  Environment unit_costs = environment;
  unit_costs.cost_level = 1.0;
  const int A = search.dimensions.boxes;
  std::vector<Draw> draws;
  for (const Regime regime : search.regimes)
    for (int r = 0; r < search.replications; ++r) {
      end_if_interrupted(search.interrupted);
      const Instance instance =
          draw_instance(search.dimensions, unit_costs, regime, static_cast<std::uint32_t>(r), search.seed);
      const ShockSample sample = draw_shock_sample(instance, search.oracle.samples);
      const Tape tape = draw_tape(instance, 0, search.contexts);
      IndexInputs inputs = index_inputs(instance, sample, tape.contexts);
      draws.push_back({instance.contextual(),
                       compressed_law(sample.projected,
                                      search.oracle.bins > 0 ? search.oracle.bins : search.oracle.samples, sample.link),
                       tape.contexts.reward_shift, std::move(inputs), tape.mu});
    }
  const auto boxes = [&](double u) {  // a replication's value is its mean over the regimes
    std::vector<double> values(static_cast<std::size_t>(search.replications), 0.0);
    for (std::size_t k = 0; k < draws.size(); ++k)
      values[k % values.size()] += boxes_opened(draws[k], A, u) / static_cast<double>(search.regimes.size());
    return estimate(values);
  };
  double low = 1e-3, high = 1.0;  // boxes per period fall in u
  if (search.wanted_boxes > boxes(low).mean || search.wanted_boxes < boxes(high).mean)
    throw Error(
        ExitCode::usage,
        fmt::format("--boxes {:g}: not reached in environment {}; between {:.2f} and {:.2f} boxes per period are "
                    "possible for u in [0.001, 1]",
                    search.wanted_boxes, environment.name, boxes(high).mean, boxes(low).mean));
  while (high - low > 1e-4) {
    end_if_interrupted(search.interrupted);
    const double middle = 0.5 * (low + high);
    (boxes(middle).mean > search.wanted_boxes ? low : high) = middle;
  }
  const double u = 0.5 * (low + high);
  const Estimate at_u = boxes(u);
  return {u, at_u.mean, at_u.half_width_95};
}

}  // namespace pandora
