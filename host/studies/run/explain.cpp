// Runs a lane once more, writes down all its estimates and scores, and sets them beside the oracle's walks over the
// same tape.
#include "host/studies/run/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/ground/base/fail.hpp"
#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/model/drift.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// A user's policy, wrapped so that its scores are written down.
struct Witness : CustomPolicy {
  CustomPolicy& policy;
  std::vector<std::vector<double>> scores = {};  // of each period, as the policy returns them

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

  std::string score_name() const {
    return !is_code ? pandora::score_name(spec.score) : record.scores.empty() ? "" : "score";
  }
  std::string prediction_name() const {
    return !spec.learns_scores() ? "" : spec.learns_payoff() ? "eta'psi" : "rho'psi";
  }
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

// E[c_a(x)] for every row and box, as the oracle uses it; empty if an environment's own code draws.
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

// Explains one lane's periods one after the other.
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

  /// Period t without the prompt and the regret of earlier periods.
  json period(int t) const {
    const int row = tape_.online_row(t - 1);
    const std::size_t at = tape_.at(row, 0);
    const Contexts& contexts = tape_.contexts;
    const PeriodOutcome& outcome = outcome_of(t);
    const PeriodRules rules(own_.spec, exploration_, static_cast<std::uint32_t>(t - 1));
    json boxes = json::array();
    for (int a = 0; a < A_; ++a) boxes.push_back(box(t, a));
    return {{"period", t},
            {"psi", std::vector<float>(contexts.psi_row(row), contexts.psi_row(row) + contexts.index_size)},
            {"reward_shift",
             contexts.locations == 1 ? json(told(contexts.reward_shift, static_cast<std::size_t>(row))) : json()},
            {"boxes", std::move(boxes)},
            {"policy", walk(row, outcome, own_.is_code ? nullptr : &own_.record.rewards[cell(t)],
                            own_.is_code ? "its code said so"
                                         : why_stopped(own_.spec, rules, outcome, A_, &own_.record.scores[cell(t)],
                                                       &own_.record.rewards[cell(t)], name_of_box))},
            {"oracle", walk(row, oracles(row), &tape_.mu[at],
                            why_stopped(oracle_, oracle_, oracles(row), A_, &sigma_[at], &tape_.mu[at], name_of_box))},
            {"reward", tape_.reward[at + static_cast<std::size_t>(outcome.deployed)]},
            {"regret", regret(t)}};
  }

  double regret(int t) const {
    const int row = tape_.online_row(t - 1);
    return utility(row, oracles(row)) - utility(row, outcome_of(t));
  }

 private:
  static double told(const std::vector<double>& values, std::size_t k) { return k < values.size() ? values[k] : 0.0; }

  std::size_t cell(int t) const { return static_cast<std::size_t>(t - 1) * static_cast<std::size_t>(A_); }

  const PeriodOutcome& outcome_of(int t) const { return own_.record.outcomes[static_cast<std::size_t>(t - 1)]; }

  PeriodOutcome oracles(int row) const {
    const std::size_t at = tape_.at(row, 0);
    return walk_period(
        oracle_, PeriodRules(oracle_), A_, &sigma_[at], nullptr,
        [&](int a) { return tape_.mu[at + static_cast<std::size_t>(a)]; }, tape_.there(row));
  }

  double utility(int row, const PeriodOutcome& outcome) const {
    return tape_.mu[tape_.at(row, outcome.deployed)] - spent_on(outcome, &tape_.cost[tape_.at(row, 0)]);
  }

  // `estimate`: of every box; null if it is unknown.
  json walk(int row, const PeriodOutcome& outcome, const double* estimate, const std::string& stopped) const {
    json queries = json::array();
    for (const int a : std::span(outcome.order, static_cast<std::size_t>(outcome.queried))) {
      const std::size_t at = tape_.at(row, a);
      json& query = queries.emplace_back(json{{"box", a + 1}, {"mu", tape_.mu[at]}, {"cost", tape_.cost[at]}});
      if (estimate != nullptr) query["estimate"] = estimate[a];
    }
    return {{"queries", std::move(queries)},
            {"deployed", outcome.deployed + 1},
            {"stopped", stopped},
            {"utility", utility(row, outcome)}};
  }

  json box(int t, int a) const {
    const int row = tape_.online_row(t - 1);
    const std::size_t k = tape_.at(row, a), at = cell(t) + static_cast<std::size_t>(a);
    const LaneRecord& record = own_.record;
    const Contexts& contexts = tape_.contexts;
    json box = {{"box", a + 1},
                {"sigma", sigma_[k]},
                {"scale", told(contexts.scale, k)},
                {"context_cost", told(contexts.context_cost, k)},
                {"reward_shift", told(contexts.reward_shift, contexts.location_at(static_cast<std::size_t>(row), a))},
                {"expected_cost", expected_cost_.empty() ? json() : json(expected_cost_[k])}};
    if (!own_.score_name().empty()) box["score"] = told(record.scores, at);
    if (!own_.prediction_name().empty())
      box.update({{"prediction", told(record.predictions, at)},
                  {"width", told(record.widths, at)},
                  {"bonus", told(record.bonuses, at)}});
    if (!holds(tape_.there(row), a)) box["there"] = false;
    return box;
  }

  const Tape& tape_;
  const std::vector<double>& sigma_;
  const Recorded& own_;
  const int A_;
  const Stream exploration_;
  const std::vector<double> expected_cost_;
  LaneSpec oracle_;
};

double number_in(const json& of, const char* name) {
  return of.value(name, json()).is_number() ? of[name].get<double>() : std::nan("");
}

// A number in a column of that width.
std::string column(double value, int width) {
  return fmt::format("  {:>{}}", std::isnan(value) ? "---" : fmt::format("{:.4f}", value), width);
}

std::string boxes_text(const Explanation& e, const json& p) {
  const std::string score = e.told["score"];
  const bool learned = !e.prediction_name.empty(), scored = !score.empty() && score != "sigma*",
             of_model = e.told["models"].empty(), own_shifts = p["reward_shift"].is_null();
  std::string out = "  box";
  if (learned) out += fmt::format("  {:>9}  {:>7}  {:>8}", e.prediction_name, "width", "bonus");
  if (scored) out += fmt::format("  {:>8}", score);
  if (of_model) out += "  oracle's sigma*  expected cost  context cost  scale s(x)";
  if (of_model && own_shifts) out += "  reward shift";
  out += "\n";
  for (const json& b : p["boxes"]) {
    const auto show = [&](const char* name, int width) { out += column(number_in(b, name), width); };
    out += fmt::format("  {:>3}", b["box"].get<int>());
    if (learned) show("prediction", 9), show("width", 7), show("bonus", 8);
    if (const double own = number_in(b, "score"); scored)
      out += own >= kForcedScore ? fmt::format("  {:>8}", "forced") : column(own, 8);
    if (of_model) show("sigma", 15), show("expected_cost", 13), show("context_cost", 12), show("scale", 10);
    if (of_model && own_shifts) show("reward_shift", 12);
    out += b.value("there", true) ? "\n" : "  (is not there)\n";
  }
  return out;
}

// Explains the words of the text.
std::string legend(const Explanation& e) {
  std::string out;
  if (!e.prediction_name.empty()) {
    const std::string sum = e.prediction_name + " + bonus";
    out += fmt::format("{}: {}, by which boxes are ranked; bonus: the width times a factor of the policy\n",
                       e.told["score"].get<std::string>(), e.linked ? fmt::format("tanh({})", sum) : sum);
  }
  if (!e.told["models"].empty()) return out + "the benchmark knows the best answer beforehand; mu* is the quality\n";
  return out +
         "oracle's sigma*: E[(mu* - sigma*)^+] = expected cost, which is E[c_a(x, omega)] = context cost + what the "
         "output costs\n"
         "scale s(x): what the shock of the box's output is multiplied with; reward shift: theta_*' Q x, what the "
         "request adds to theta_*' phi\n";
}

std::string walk_text(const std::string& who, const json& walk, bool estimates) {
  std::string out;
  for (const json& q : walk["queries"])
    out += fmt::format(
        "  {} {} box {}: pays {:.4f}, its output is worth mu* = {:.4f}{}\n", who,
        out.empty() ? "queries" : "then queries", q["box"].get<int>(), number_in(q, "cost"), number_in(q, "mu"),
        estimates && q.contains("estimate") ? fmt::format(", estimated at {:.4f}", number_in(q, "estimate")) : "");
  return out + fmt::format("  {} stops: {}; deploys box {}: utility {:.4f}\n", who, walk["stopped"].get<std::string>(),
                           walk["deployed"].get<int>(), number_in(walk, "utility"));
}

}  // namespace

Explanation explain(const FoundLane& found, int first, int last) {
  const int T = found.study().periods;
  if (found.study().actions.wide())
    fail(
        ExitCode::usage,
        "{}: is a lane of a study with [actions], whose periods are not explained; run the study with output.decisions = "
        "true and read them",
        found.name());
  if (first < 1 || last < first || last > T)
    fail(ExitCode::usage, "{}: give t or t:u with 1 <= t <= u <= T = {}",
         option("period", first == last ? fmt::format("{}", first) : fmt::format("{}:{}", first, last)), T);
  const Replication replication = found.prepare();
  const Recorded own = run_recorded(found, replication);
  if (own.tally.failure != Failure::none && last > own.tally.periods)
    fail(ExitCode::internal, "{}: the lane fails in period {} ({}); ask for periods before", found.name(),
         own.tally.failed_period, failure_message(own.tally, own.notes));
  const Explainer explainer(found, replication, own);
  const std::shared_ptr<const TraceWorld> world = found.table();
  double so_far = 0.0;
  for (int t = 1; t < first; ++t) so_far += explainer.regret(t);
  json periods = json::array();
  for (int t = first; t <= last; ++t) {
    json& period = periods.emplace_back(explainer.period(t));
    period["regret_so_far"] = so_far += explainer.regret(t);
    period["prompt"] =
        periods_are_prompts(found.unit().environment) ? prompt_text(world->online(), found.prompt(t)) : "";
  }
  return {{{"lane", found.name()},
           {"models", world == nullptr ? std::vector<std::string>() : world->models()},
           {"score", own.score_name()},
           {"reward_known", own.spec.reward == RewardModel::known},
           {"periods", std::move(periods)}},
          own.prediction_name(),
          own.spec.learns_index() && own.spec.loss == Loss::reservation};
}

std::string explanation_text(const Explanation& e) {
  const json& models = e.told["models"];
  std::string out = fmt::format("lane {}, boxes counted from 1\n", e.told["lane"].get<std::string>());
  for (std::size_t a = 0; a < models.size(); ++a)
    out += fmt::format("box {} is {}\n", a + 1, printable(models[a].get<std::string>()));
  for (const json& p : e.told["periods"]) {
    double squares = 0.0;
    for (const double x : p["psi"]) squares += x * x;
    const std::string prompt = p["prompt"];
    out += fmt::format("\nperiod {}: {} with {} index features of length {:.4f}{}\n", p["period"].get<int>(),
                       prompt.empty() ? "request" : "prompt " + prompt, p["psi"].size(), std::sqrt(squares),
                       models.empty() && p["reward_shift"].is_number()
                           ? fmt::format(", reward shift {:.4f}", number_in(p, "reward_shift"))
                           : "");
    out += boxes_text(e, p);
    out += walk_text("the policy", p["policy"], !e.told["reward_known"].get<bool>());
    out += fmt::format("  the realised reward is {:g}\n", number_in(p, "reward"));
    out += walk_text(models.empty() ? "the oracle" : "the benchmark", p["oracle"], false);
    out += fmt::format("  regret of the period {:.4f}, so far {:.4f}\n", number_in(p, "regret"),
                       number_in(p, "regret_so_far"));
  }
  return out + "\n" + legend(e);
}

}  // namespace pandora
