// pandora with four policies and three environments of its own. It is the whole program: studies name them like those
// that are built in, and everything else (tables, resuming, shards) works as before.
#include <cmath>
#include <sstream>

#include "pandora/environment.hpp"
#include "pandora/policy.hpp"
#include "pandora/program.hpp"
#include "pandora/weitzman.hpp"

namespace {

using namespace pandora;

// ---- a policy as a combination of rules: it runs in the fast engines, and on a GPU -------------------------------

// Learned indices without optimism, but never more than the box that looks best.
Policy single_best_index() {
  Policy policy;
  policy.name = "single_best_index";
  policy.summary = "opens the box with the greatest learned index and stops";
  policy.variants = [](const Grids&) -> std::vector<PolicyVariant> {
    return {{"known", "", [](const Replication&, int T0) {
               LaneSpec lane;
               lane.T0 = T0;
               lane.score = Score::learned_index;
               lane.learning = Learning::online;
               lane.stop = Stop::after_first;
               return lane;
             }}};
  };
  return policy;
}

// ---- a policy as code ---------------------------------------------------------------------------------------------

// Opens boxes in the order of their mean net reward so far, at random with probability epsilon, until an output is
// better than what the next box gave on average.
class EpsilonGreedy : public CustomPolicy {
 public:
  EpsilonGreedy(int boxes, double epsilon, const Stream& stream)
      : epsilon_(epsilon), stream_(stream), sum_(static_cast<std::size_t>(boxes)), count_(sum_.size()) {}

  void calibrate(const Request&, const Output& output, std::optional<double>) override { note(output); }

  void begin(const Request& request) override {
    std::uint32_t words[4][1];
    philox<1>(stream_, {0}, {static_cast<std::uint32_t>(request.period)}, {0}, words);
    explores_ = open_uniform(words[0][0]) < epsilon_;
    shift_ = words[1][0] % sum_.size();
    open_.clear();
    best_ = -1;
  }

  int next() override {
    const int box = candidate();
    if (open_.empty() || (best_ < 0 || best_mu_ < mean(box))) return box;
    return kStop;
  }

  void opened(const Output& output) override {
    open_.push_back(output.box);
    note(output);
    if (best_ < 0 || output.mu > best_mu_) {
      best_ = output.box;
      best_mu_ = output.mu;
    }
  }

  int deploy() override { return best_; }

 private:
  double mean(int box) const { return count_[box] > 0 ? sum_[box] / count_[box] : 1.0; }

  void note(const Output& output) {
    sum_[output.box] += output.mu - output.cost;
    count_[output.box] += 1.0;
  }

  int candidate() const {
    int best = -1;
    for (std::size_t k = 0; k < sum_.size(); ++k) {
      const int box = static_cast<int>((k + (explores_ ? shift_ : 0)) % sum_.size());
      if (std::find(open_.begin(), open_.end(), box) != open_.end()) continue;
      if (best < 0 || (!explores_ && mean(box) > mean(best))) best = box;
    }
    return best;
  }

  double epsilon_;
  Stream stream_;
  std::vector<double> sum_, count_;
  std::vector<int> open_;
  bool explores_ = false;
  std::size_t shift_ = 0;
  int best_ = -1;
  double best_mu_ = 0.0;
};

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Policy epsilon_greedy() {
  Policy policy;
  policy.name = "epsilon_greedy";
  policy.summary = "boxes by their mean net reward, at random with probability epsilon";
  policy.hyperparameters = {{"epsilon", "probability of a random order", {0.01, 0.1}}};
  policy.variants = [](const Grids& grids) {
    std::vector<PolicyVariant> variants;
    for (const double epsilon : grids.values("epsilon"))
      variants.push_back({"known",
                          "epsilon=" + text_of(epsilon),
                          {},
                          [epsilon](const Replication& replication, int, const EstimationOptions&) {
                            return std::make_unique<EpsilonGreedy>(replication.tape.boxes(), epsilon,
                                                                   replication.instance.stream(Purpose::custom_policy));
                          }});
    return variants;
  };
  return policy;
}

// ---- policies from building blocks --------------------------------------------------------------------------------

// DOW again: in every digit what `dow` has under engine.kind = "reference".
Policy dow_twin() {
  Policy policy;
  policy.name = "dow_twin";
  policy.summary = "DOW from the building blocks";
  policy.hyperparameters = {{"c_rho", "factor of the index bonus", {0.1}}};
  policy.variants = [](const Grids& grids) {
    std::vector<PolicyVariant> variants;
    for (const double c_rho : grids.values("c_rho"))
      variants.push_back(
          {"known", "c_rho=" + text_of(c_rho), {}, [c_rho](const auto& replication, int T0, auto& options) {
             const LaneSpec rules = weitzman_lane(T0, Learning::online, RewardModel::known, c_rho, 0.0);
             return std::make_unique<WeitzmanPolicy>(replication, rules, options);
           }});
    return variants;
  };
  return policy;
}

// One hook changed: a bonus that fades as a box is opened.
struct Fading : WeitzmanPolicy {
  using WeitzmanPolicy::WeitzmanPolicy;
  double bonus(int box) override { return 1.0 / (1.0 + 0.05 * estimator().samples(box)); }
};

Policy fading_bonus() {
  Policy policy;
  policy.name = "fading_bonus";
  policy.summary = "DOW with the bonus 1 / (1 + n_a / 20)";
  policy.variants = [](const Grids&) -> std::vector<PolicyVariant> {
    return {{"known", "", {}, [](const Replication& replication, int T0, const EstimationOptions& options) {
               // A bonus there is: the estimator keeps V^-1.
               const LaneSpec rules = weitzman_lane(T0, Learning::online, RewardModel::known, 1.0, 0.0);
               return std::make_unique<Fading>(replication, rules, options);
             }}};
  };
  return policy;
}

// ---- an environment with another law of the outputs ---------------------------------------------------------------

// A Laplace coordinate of unit variance from two words: the sign and the exponential radius.
float laplace(std::uint32_t sign, std::uint32_t radius) {
  const double size = -std::log(open_uniform(radius)) / std::sqrt(2.0);
  return static_cast<float>((sign & 1) != 0 ? size : -size);
}

Environment laplace_environment() {
  Environment environment;
  environment.name = "laplace";
  environment.id = 100;
  environment.law = Law::custom;
  environment.coordinate = laplace;
  environment.cost_level = 0.2;
  return environment;
}

// ---- an environment with code of its own --------------------------------------------------------------------------

// The paper's model, but the first box costs nothing.
Replication draw_free_sample(const ReplicationRequest& request) {
  Replication replication;
  Instance& instance = replication.instance;
  instance = draw_instance(request.dimensions, request.environment, request.regime, request.replication, request.seed);
  instance.c0[0] = instance.c1[0] = 1e-6;  // an index needs a cost above 0
  replication.tape = draw_tape(instance, request.calibration_periods, request.periods);
  replication.sigma = oracle_indices(instance, draw_shock_sample(instance, request.oracle.samples),
                                     replication.tape.contexts, request.oracle, replication.tape.online_row(0));
  return replication;
}

// The paper's model at half its costs after the first 250 periods. Other costs have other indices: the oracle's are
// made from what decides them.
Replication draw_half_price(const ReplicationRequest& request) {
  Replication replication;
  Instance& instance = replication.instance;
  Tape& tape = replication.tape;
  instance = draw_instance(request.dimensions, request.environment, request.regime, request.replication, request.seed);
  tape = draw_tape(instance, request.calibration_periods, request.periods);
  const ShockSample sample = draw_shock_sample(instance, request.oracle.samples);
  IndexInputs inputs = index_inputs(instance, sample, tape.contexts, tape.online_row(0));
  for (std::size_t at = tape.at(tape.online_row(0) + 250, 0); at < tape.cost.size(); ++at) {
    tape.cost[at] /= 2;
    inputs.cost[at] /= 2;  // E[c | x]
  }
  replication.sigma = indices_of(sample, inputs, request.oracle);
  return replication;
}

Environment half_price_environment() {
  Environment environment;
  environment.name = "half_price";
  environment.id = 102;
  environment.law = Law::uniform;
  environment.cost_level = 0.23;
  return environment;
}

Environment free_sample_environment() {
  Environment environment;
  environment.name = "free_sample";
  environment.id = 101;
  environment.law = Law::uniform;
  environment.cost_level = 0.23;
  return environment;
}

}  // namespace

int main(int argc, char** argv) {
  register_policy(single_best_index());
  register_policy(epsilon_greedy());
  register_policy(dow_twin());
  register_policy(fading_bonus());
  register_environment(laplace_environment());
  register_environment(free_sample_environment(), draw_free_sample);
  register_environment(half_price_environment(), draw_half_price);
  return run_program(argc, argv);
}
