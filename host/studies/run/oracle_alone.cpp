// Bisection over u on draws that are made once.
#include "host/studies/run/oracle_alone.hpp"

#include <fmt/format.h>

#include <mutex>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "kernels/rules/period.hpp"

namespace pandora {
namespace {

// One replication with costs per unit of u: everything on which the oracle's queries depend except u itself.
struct Draw {
  bool contextual;
  ProjectedLaw law;
  IndexInputs inputs;      // rows x A
  std::vector<double> mu;  // rows x A
};

double boxes_opened(const Draw& draw, int A, double u) {
  LaneSpec oracle;
  oracle.score = Score::oracle_index;
  ReservationSolver solver(draw.law);
  const int rows = static_cast<int>(draw.mu.size()) / A;
  std::vector<double> sigma(static_cast<std::size_t>(A));
  double queries = 0.0;
  for (int row = 1; row < rows; ++row) {  // row 0 is x_0
    const std::size_t first = static_cast<std::size_t>(row) * A;
    if (row == 1 || draw.contextual)
      for (int a = 0; a < A; ++a) {
        solver.evaluate(draw.inputs.shift[first + a], draw.inputs.scale[first + a]);
        sigma[a] = solver.index(u * draw.inputs.cost[first + a]);
      }
    queries += walk_period(oracle, A, sigma.data(), nullptr, [&](int a) { return draw.mu[first + a]; }).queried;
  }
  return queries / (rows - 1);
}

// Draws one replication of one regime with the costs for u = 1.
Draw draw_of(const Environment& unit_costs, const CostSearch& search, Regime regime, std::uint32_t replication) {
  const Instance instance = draw_instance(search.dimensions, unit_costs, regime, replication, search.seed);
  const ShockSample sample = draw_shock_sample(instance, search.oracle.samples);
  const Tape tape = draw_tape(instance, 0, search.contexts);
  IndexInputs inputs = index_inputs(instance, sample, tape.contexts);
  return {instance.contextual(),
          compressed_law(sample.projected, search.oracle.bins > 0 ? search.oracle.bins : search.oracle.samples,
                         sample.link),
          std::move(inputs), tape.mu};
}

// The search for one environment: all its draws, and the oracle's decisions on them for any u.
class Search {
 public:
  Search(const Environment& environment, const CostSearch& search) : search_(search) {
    Environment unit_costs = environment;
    unit_costs.cost_level = 1.0;
    const std::size_t R = static_cast<std::size_t>(search.replications);
    draws_.resize(search.regimes.size() * R);
    total_ = draws_.size() * (1 + kEvaluations);
    for_each_draw([&](std::size_t k) {
      draws_[k] = draw_of(unit_costs, search_, search_.regimes[k / R], static_cast<std::uint32_t>(k % R));
    });
  }

  /// Boxes opened per period. A replication's value is its mean over the regimes.
  Estimate boxes(double u) {
    std::vector<double> opened(draws_.size());
    for_each_draw([&](std::size_t k) { opened[k] = boxes_opened(*draws_[k], search_.dimensions.boxes, u); });
    std::vector<double> values(static_cast<std::size_t>(search_.replications), 0.0);
    for (std::size_t k = 0; k < draws_.size(); ++k)
      values[k % values.size()] += opened[k] / static_cast<double>(search_.regimes.size());
    return estimate(values);
  }

  static constexpr double kLow = 1e-3, kHigh = 1.0, kTolerance = 1e-4;

 private:
  static constexpr std::size_t kEvaluations = 17;  // the ends, 14 halvings to the tolerance, and the answer

  void for_each_draw(const std::function<void(std::size_t k)>& body) {
    in_parallel(static_cast<std::size_t>(search_.threads), draws_.size(), [&](std::size_t k) {
      end_if_interrupted(search_.interrupted);
      body(k);
      const std::lock_guard guard(mutex_);
      if (search_.progress) search_.progress(++done_, total_);
    });
  }

  const CostSearch& search_;
  std::vector<std::optional<Draw>> draws_;
  std::mutex mutex_;
  std::size_t done_ = 0, total_ = 0;
};

ProjectedLaw law_of(const Study& study) {
  Instance instance;  // with D = one unit row and theta_* = 1, the projection is the drawn vector
  instance.environment = study.environments[0];
  instance.seed = study.seed;
  instance.dimensions = study.dimensions;
  instance.dimensions.reward_features = 1;
  instance.theta = {1.0};
  instance.D = unit_sphere(instance.stream(Purpose::projection_vector), instance.dimensions.output);
  const ShockSample sample = draw_shock_sample(instance, study.oracle.samples);
  return empirical_law(sample.projected, sample.link);
}

}  // namespace

OracleIndex::OracleIndex(const Study& study) : law_(law_of(study)), solver_(law_) {}

OracleIndex::Found OracleIndex::operator()(double shift, double scale, double cost) {
  if (shift != shift_ || scale != scale_) solver_.evaluate(shift, scale);
  shift_ = shift;
  scale_ = scale;
  const double sigma = solver_.index(cost);
  return {sigma, solver_.standard_error(sigma)};
}

void require_cost_level(const Environment& environment) {
  if (environment.indices == Indices::linear)
    fail(ExitCode::usage, "environment {}: has linear indices, whose costs no u decides; leave it out by {}",
         environment.name, option("environment"));
}

CostSearchResult calibrate_cost(const Environment& environment, const CostSearch& search) {
  require_cost_level(environment);
  Search of(environment, search);
  double low = Search::kLow, high = Search::kHigh;  // the number of boxes per period falls with u
  const double most = of.boxes(low).mean, least = of.boxes(high).mean;
  if (search.wanted_boxes > most || search.wanted_boxes < least)
    fail(ExitCode::usage,
         "{}: not reached in environment {}; between {:.2f} and {:.2f} boxes per period are possible for u in "
         "[0.001, 1]",
         option("boxes", fmt::format("{:g}", search.wanted_boxes)), environment.name, least, most);
  while (high - low > Search::kTolerance) {
    const double middle = 0.5 * (low + high);
    (of.boxes(middle).mean > search.wanted_boxes ? low : high) = middle;
  }
  const double u = 0.5 * (low + high);
  const Estimate at_u = of.boxes(u);
  return {u, at_u.mean, at_u.half_width_95};
}

}  // namespace pandora
