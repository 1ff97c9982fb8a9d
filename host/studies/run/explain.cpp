#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/studies/run/find_lane.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

// A policy of one's own with somebody who writes down its scores.
struct Witness : CustomPolicy {
  CustomPolicy& policy;
  std::vector<std::vector<double>> scores = {};  // of each period, as the policy tells them

  explicit Witness(CustomPolicy& of) : policy(of) {}

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    policy.calibrate(request, output, reward);
  }
  void begin(const Request& request) override { policy.begin(request); }
  int next() override { return policy.next(); }
  void opened(const Output& output) override { policy.opened(output); }
  int deploy() override { return policy.deploy(); }
  std::vector<int> ranking() const override { return policy.ranking(); }
  std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) override {
    return policy.opens_of(outputs, worth);
  }
  void learn(double reward) override {
    scores.push_back(policy.scores());
    policy.learn(reward);
  }
  bool waits_for_rewards() const override { return policy.waits_for_rewards(); }
  bool restarts() const override { return policy.restarts(); }
  void learn_late(int period, double reward) override { policy.learn_late(period, reward); }
};

struct Recorded {
  bool is_code = false;
  LaneSpec spec = {};
  LaneRecord record = {};
  LaneTally tally = {};
  LaneNotes notes = {};
};

Recorded run_recorded(const FoundLane& found, const Replication& replication) {
  const PolicyVariant& variant = found.lane().variant;
  Recorded out{static_cast<bool>(variant.custom)};
  if (out.is_code) {
    const std::unique_ptr<CustomPolicy> policy = variant.custom(replication, found.lane().T0, found.study().estimation);
    if (policy == nullptr) throw Error(ExitCode::internal, found.name() + ": its maker returned no policy");
    Witness witness(*policy);
    out.tally = run_custom_lane(replication, witness, found.lane().T0, &out.notes.message, &out.record.outcomes,
                                shown_to(found.lane()));
    const std::size_t A = static_cast<std::size_t>(replication.tape.boxes());
    const auto tells = [A](const std::vector<double>& scores) { return scores.size() == A; };
    if (std::ranges::none_of(witness.scores, tells)) return out;
    for (std::vector<double>& scores : witness.scores) {
      if (!tells(scores)) scores.assign(A, std::numeric_limits<double>::quiet_NaN());
      out.record.scores.insert(out.record.scores.end(), scores.begin(), scores.end());
    }
    return out;
  }
  out.spec = variant.lane(replication, found.lane().T0);
  out.tally = run_one_lane(found.study(), replication, out.spec, &out.record);
  return out;
}

std::string name_of_box(int box) {
  return fmt::format("box {}", box + 1);
}

// E[c_a(x)] of every row and box, as the oracle takes it; empty where an environment's own code draws.
std::vector<double> expected_costs(const Study& study, const Replication& replication) {
  const Instance& instance = replication.instance;
  if (find_drawer(instance.environment.name) || instance.environment.trace != nullptr) return {};
  return moving_inputs(instance, draw_shock_sample(instance, study.oracle.samples), replication.tape, study.oracle)
      .cost;
}

std::string prompt_text(const TraceTable& table, std::size_t row) {
  constexpr std::size_t kMost = 100;
  const std::string name = printable(std::string(table.prompts[row]), kMost),
                    text = printable(std::string(table.text(row)), kMost);
  return text.empty() || text == name ? name : name + ": " + text;
}

// `estimate`: of every box; null where nobody tells them.
ExplainedWalk walk_of(const Tape& tape, int row, const PeriodOutcome& outcome, const double* estimate) {
  const bool told = estimate != nullptr;
  ExplainedWalk walk;
  for (const int a : std::span(outcome.order, static_cast<std::size_t>(outcome.queried)))
    walk.queries.push_back(
        {a + 1, tape.mu[tape.at(row, a)], tape.cost[tape.at(row, a)], told ? estimate[a] : 0.0, told});
  walk.deployed = outcome.deployed + 1;
  walk.utility = tape.mu[tape.at(row, outcome.deployed)] - spent_on(outcome, &tape.cost[tape.at(row, 0)]);
  return walk;
}

// One lane's periods, taken apart one after the other.
class Explainer {
 public:
  Explainer(const FoundLane& found, const Replication& replication, const Recorded& own)
      : tape_(replication.tape),
        sigma_(replication.sigma),
        own_(own),
        A_(tape_.boxes()),
        exploration_(replication.instance.stream(Purpose::exploration)),
        expected_cost_(expected_costs(found.study(), replication)) {
    oracle_.score = Score::oracle_index;
  }

  /// Period t with all but the regret of those before.
  ExplainedPeriod period(int t) const {
    const int row = tape_.online_row(t - 1);
    const std::size_t at = tape_.at(row, 0);
    const PeriodOutcome& outcome = own_.record.outcomes[static_cast<std::size_t>(t - 1)];
    ExplainedPeriod period = walks(t);
    period.period = t;
    period.psi.assign(tape_.contexts.psi_row(row), tape_.contexts.psi_row(row) + tape_.contexts.index_size);
    if (tape_.contexts.locations == 1)
      period.reward_shift = told(tape_.contexts.reward_shift, static_cast<std::size_t>(row));
    period.reward = tape_.reward[at + static_cast<std::size_t>(outcome.deployed)];
    for (int a = 0; a < A_; ++a) period.boxes.push_back(box(t, a));
    const PeriodRules rules(own_.spec, exploration_, static_cast<std::uint32_t>(t - 1));
    period.own.stopped = own_.is_code ? "its code said so"
                                      : why_stopped(own_.spec, rules, outcome, A_, &own_.record.scores[cell(t)],
                                                    &own_.record.rewards[cell(t)], name_of_box);
    period.oracle.stopped = why_stopped(oracle_, oracle_, oracles(row), A_, &sigma_[at], &tape_.mu[at], name_of_box);
    return period;
  }

  /// What the lane and the oracle did in period t, and the regret.
  ExplainedPeriod walks(int t) const {
    const int row = tape_.online_row(t - 1);
    ExplainedPeriod period;
    period.own = walk_of(tape_, row, own_.record.outcomes[static_cast<std::size_t>(t - 1)],
                         own_.is_code ? nullptr : &own_.record.rewards[cell(t)]);
    period.oracle = walk_of(tape_, row, oracles(row), &tape_.mu[tape_.at(row, 0)]);
    period.regret = period.oracle.utility - period.own.utility;
    return period;
  }

 private:
  static double told(const std::vector<double>& values, std::size_t k) { return k < values.size() ? values[k] : 0.0; }

  std::size_t cell(int t) const { return static_cast<std::size_t>(t - 1) * static_cast<std::size_t>(A_); }

  PeriodOutcome oracles(int row) const {
    const std::size_t at = tape_.at(row, 0);
    return walk_period(
        oracle_, PeriodRules(oracle_), A_, &sigma_[at], nullptr,
        [&](int a) { return tape_.mu[at + static_cast<std::size_t>(a)]; }, tape_.there(row));
  }

  ExplainedBox box(int t, int a) const {
    const std::size_t k = tape_.at(tape_.online_row(t - 1), a), at = cell(t) + static_cast<std::size_t>(a);
    const LaneRecord& record = own_.record;
    const Contexts& contexts = tape_.contexts;
    return {a + 1,
            told(record.predictions, at),
            told(record.widths, at),
            told(record.bonuses, at),
            told(record.scores, at),
            sigma_[k],
            expected_cost_.empty() ? std::nullopt : std::optional(expected_cost_[k]),
            told(contexts.context_cost, k),
            told(contexts.scale, k),
            told(contexts.reward_shift, contexts.location_at(static_cast<std::size_t>(tape_.online_row(t - 1)), a)),
            holds(tape_.there(tape_.online_row(t - 1)), a)};
  }

  const Tape& tape_;
  const std::vector<double>& sigma_;
  const Recorded& own_;
  const int A_;
  const Stream exploration_;
  const std::vector<double> expected_cost_;
  LaneSpec oracle_;
};

}  // namespace

Explanation explain(const FoundLane& found, int first, int last) {
  const int T = found.study().periods;
  if (first < 1 || last < first || last > T)
    throw Error(ExitCode::usage,
                fmt::format("--period {}: give t or t:u with 1 <= t <= u <= T = {}",
                            first == last ? fmt::format("{}", first) : fmt::format("{}:{}", first, last), T));
  const Replication replication = found.prepare();
  const Recorded own = run_recorded(found, replication);
  if (own.tally.failure != Failure::none && last > own.tally.periods)
    throw Error(ExitCode::internal,
                fmt::format("{}: the lane fails in period {} ({}); ask for periods before", found.name(),
                            own.tally.failed_period, failure_message(own.tally, own.notes)));
  Explanation out;
  out.lane = found.name();
  out.knows_reward = own.spec.reward == RewardModel::known;
  out.score_name = !own.is_code ? score_name(own.spec.score) : own.record.scores.empty() ? "" : "score";
  if (own.spec.learns_scores()) out.prediction_name = own.spec.learns_payoff() ? "eta'psi" : "rho'psi";
  out.linked = own.spec.learns_index() && own.spec.loss == Loss::reservation;
  const Explainer explainer(found, replication, own);
  const std::shared_ptr<const TraceWorld> world = found.table();
  if (world != nullptr) out.models = world->models();
  double so_far = 0.0;
  for (int t = 1; t < first; ++t) so_far += explainer.walks(t).regret;
  for (int t = first; t <= last; ++t) {
    ExplainedPeriod period = explainer.period(t);
    period.regret_so_far = so_far += period.regret;
    if (periods_are_prompts(found.unit().environment)) period.prompt = prompt_text(world->online(), found.prompt(t));
    out.periods.push_back(std::move(period));
  }
  return out;
}

}  // namespace pandora
