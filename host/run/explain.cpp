#include "host/run/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "host/sweep/runnable_lanes.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// A policy of one's own with somebody who writes down what it opens and deploys.
class Witness : public CustomPolicy {
 public:
  explicit Witness(CustomPolicy& policy) : policy_(policy) {}

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    policy_.calibrate(request, output, reward);
  }
  void begin(const Request& request) override {
    outcomes.emplace_back();
    policy_.begin(request);
  }
  int next() override { return policy_.next(); }
  void opened(const Output& output) override {
    PeriodOutcome& outcome = outcomes.back();
    outcome.order[outcome.queried++] = output.box;
    policy_.opened(output);
  }
  int deploy() override { return outcomes.back().deployed = policy_.deploy(); }
  void learn(double reward) override { policy_.learn(reward); }

  std::vector<PeriodOutcome> outcomes;

 private:
  CustomPolicy& policy_;
};

struct Recorded {
  LaneSpec spec;
  LaneRecord record;
  LaneTally tally;
  LaneNotes notes;
  bool is_code = false;
};

Recorded run_recorded(const FoundLane& found, const Replication& replication) {
  Recorded out;
  const PolicyVariant& variant = found.lane().variant;
  if (variant.custom) {
    out.is_code = true;
    const std::unique_ptr<CustomPolicy> policy = variant.custom(replication, found.lane().T0, found.study().estimation);
    if (policy == nullptr) throw Error(ExitCode::internal, found.name() + ": its maker returned no policy");
    Witness witness(*policy);
    out.tally = run_custom_lane(replication, witness, found.lane().T0, &out.notes.message);
    out.record.outcomes = std::move(witness.outcomes);
    return out;
  }
  out.spec = variant.lane(replication, found.lane().T0);
  out.tally = run_one_lane(found.study(), replication, out.spec, &out.record);
  return out;
}

// Why the walk of kernels/rules/period.hpp ended where it did.
std::string why_stopped(const LaneSpec& spec, const PeriodOutcome& outcome, int A, const double* score,
                        const double* estimate) {
  const int length = spec.order == Order::listed ? spec.length : A;
  const double best = estimate[outcome.deployed];
  const int opened = outcome.queried;
  if (spec.stop == Stop::after_first) return "it queries one box alone";
  if (spec.stop == Stop::last_reaches_threshold && opened < length) {
    const int last = outcome.order[opened - 1];
    return fmt::format("the response of box {}, {:.4f}, reaches the threshold {:g}", last + 1, estimate[last],
                       spec.threshold[opened - 1]);
  }
  if (opened == length) return opened == A ? "every box is open" : "the cascade is at its end";
  int left = -1;  // the unopened box with the largest score
  for (int a = 0; a < A; ++a)
    if (std::find(outcome.order, outcome.order + opened, a) == outcome.order + opened &&
        (left < 0 || score[a] > score[left]))
      left = a;
  return fmt::format("the best response, {:.4f} of box {}, reaches the largest index left, {:.4f} of box {}", best,
                     outcome.deployed + 1, score[left], left + 1);
}

ExplainedWalk walk_of(const Tape& tape, int row, const PeriodOutcome& outcome, const double* estimate) {
  ExplainedWalk walk;
  for (int k = 0; k < outcome.queried; ++k) {
    const int a = outcome.order[k];
    const std::size_t at = tape.at(row, a);
    walk.queries.push_back(
        {a + 1, tape.mu[at], tape.cost[at], estimate != nullptr ? estimate[a] : 0.0, estimate != nullptr});
  }
  walk.deployed = outcome.deployed + 1;
  walk.utility = tape.mu[tape.at(row, outcome.deployed)] - spent_on(outcome, &tape.cost[tape.at(row, 0)]);
  return walk;
}

}  // namespace

Explanation explain(const FoundLane& found, int first, int last) {
  const int T = found.study().periods, A = found.study().dimensions.boxes;
  if (first < 1 || last < first || last > T)
    throw Error(ExitCode::usage,
                fmt::format("--period {}: give t or t:u with 1 <= t <= u <= T = {}",
                            first == last ? fmt::format("{}", first) : fmt::format("{}:{}", first, last), T));
  const Replication replication = found.prepare();
  const Tape& tape = replication.tape;
  const Recorded own = run_recorded(found, replication);
  if (own.tally.failure != Failure::none && last > own.tally.periods)
    throw Error(ExitCode::internal,
                fmt::format("{}: the lane fails in period {} ({}); ask for periods before", found.name(),
                            own.tally.failed_period, failure_message(own.tally, own.notes)));
  LaneSpec oracle;
  oracle.score = Score::oracle_index;
  Explanation out;
  out.lane = found.name();
  out.knows_reward = own.spec.reward == RewardModel::known;
  out.score_name = own.is_code || own.spec.score == Score::none ? ""
                   : own.spec.score == Score::oracle_index      ? "sigma*"
                   : own.spec.score == Score::learned_payoff    ? "payoff"
                                                                : "index";
  double so_far = 0.0;
  for (int t = 1; t <= last; ++t) {
    const int row = tape.online_row(t - 1);
    const std::size_t at = tape.at(row, 0), cell = static_cast<std::size_t>(t - 1) * static_cast<std::size_t>(A);
    const PeriodOutcome best =
        walk_period(oracle, A, &replication.sigma[at], nullptr, [&](int a) { return tape.mu[at + a]; });
    const PeriodOutcome& outcome = own.record.outcomes[static_cast<std::size_t>(t - 1)];
    const double* estimate = own.is_code ? nullptr : &own.record.rewards[cell];
    ExplainedPeriod period;
    period.own = walk_of(tape, row, outcome, estimate);
    period.oracle = walk_of(tape, row, best, &tape.mu[at]);
    period.regret = period.oracle.utility - period.own.utility;
    so_far += period.regret;
    if (t < first) continue;
    period.period = t;
    period.regret_so_far = so_far;
    period.psi.assign(tape.contexts.psi_row(row), tape.contexts.psi_row(row) + tape.contexts.index_size);
    const auto told = [](const std::vector<double>& values, std::size_t k) {
      return k < values.size() ? values[k] : 0.0;
    };
    period.reward_shift = told(tape.contexts.reward_shift, static_cast<std::size_t>(row));
    period.reward = tape.reward[at + static_cast<std::size_t>(outcome.deployed)];
    for (int a = 0; a < A; ++a) {
      const std::size_t k = at + static_cast<std::size_t>(a);
      period.boxes.push_back({a + 1, own.is_code ? 0.0 : own.record.scores[cell + a],
                              own.is_code ? 0.0 : own.record.widths[cell + a], replication.sigma[k],
                              told(tape.contexts.scale, k), told(tape.contexts.context_cost, k)});
    }
    period.own.stopped =
        own.is_code ? "its code said so" : why_stopped(own.spec, outcome, A, &own.record.scores[cell], estimate);
    period.oracle.stopped = why_stopped(oracle, best, A, &replication.sigma[at], &tape.mu[at]);
    out.periods.push_back(std::move(period));
  }
  return out;
}

}  // namespace pandora
