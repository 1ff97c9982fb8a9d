#include "host/lanes/model/constrained.hpp"

#include <algorithm>

#include "host/lanes/model/drift.hpp"
#include "kernels/rules/tally.hpp"

namespace pandora {

double spent_by_oracle(const Tape& tape, const std::vector<double>& sigma, Pacing::Of of) {
  const int A = tape.boxes();
  LaneSpec rule;
  double sum = 0.0;
  for (int t = 0; t < tape.online_rows; ++t) {
    const int row = tape.online_row(t);
    const std::size_t at = tape.at(row, 0);
    const PeriodOutcome outcome = walk_period(
        rule, PeriodRules(rule), A, &sigma[at], nullptr,
        [&](int a) { return tape.mu[at + static_cast<std::size_t>(a)]; }, tape.there(row));
    sum += of == Pacing::Of::queries ? outcome.queried : spent_on(outcome, &tape.cost[at]);
  }
  return sum / tape.online_rows;
}

ConstrainedOracle constrained_oracle(const Instance& instance, const Tape& tape, const Pacing& budget,
                                     const OracleOptions& options) {
  const ShockSample sample = draw_shock_sample(instance, options.samples);
  const IndexInputs inputs = moving_inputs(instance, sample, tape, options);
  const ProjectedLaw law = grid_law(sample, options);
  const std::size_t first = tape.at(tape.online_row(0), 0);
  const bool queries = budget.of == Pacing::Of::queries;
  const auto at = [&](double multiplier) {
    IndexInputs dearer = inputs;
    for (double& cost : dearer.cost) cost = queries ? cost + multiplier : cost * (1.0 + multiplier);
    return instance.contextual() ? interpolated_indices(law, dearer, options.grid, first)
                                 : indices_of(sample, dearer, options);
  };
  const auto fits = [&](const std::vector<double>& sigma) {
    return spent_by_oracle(tape, sigma, budget.of) <= budget.budget;
  };
  ConstrainedOracle out{0.0, at(0.0)};
  if (fits(out.sigma)) return out;
  // From 1 on a query costs more than it can bring.
  double low = 0.0, high = 1.0;
  constexpr double kMost = 1000.0;
  for (out = {high, at(high)}; !fits(out.sigma) && high < kMost; out = {high, at(high)})
    low = std::exchange(high, 4.0 * high);
  while (high - low > 1e-4 * high) {
    const double middle = 0.5 * (low + high);
    ConstrainedOracle tried{middle, at(middle)};
    if (fits(tried.sigma)) {
      high = middle;
      out = std::move(tried);
    } else {
      low = middle;
    }
  }
  return out;
}

double least_spending(const ReplicationRequest& request) {
  constexpr int kPeriods = 200, kSamples = 20000;
  const Instance instance =
      draw_instance(request.dimensions, request.environment, request.regime, request.replication, request.seed);
  const Tape tape = draw_tape(instance, 0, std::min(request.periods, kPeriods));
  OracleOptions options = request.oracle;
  options.samples = std::min(options.samples, kSamples);
  const IndexInputs inputs = moving_inputs(instance, draw_shock_sample(instance, options.samples), tape, options);
  double sum = 0.0;
  for (int t = 0; t < tape.online_rows; ++t) {
    const auto expected = inputs.cost.begin() + static_cast<std::ptrdiff_t>(tape.at(tape.online_row(t), 0));
    sum += *std::min_element(expected, expected + tape.boxes());
  }
  return sum / tape.online_rows;
}

}  // namespace pandora
