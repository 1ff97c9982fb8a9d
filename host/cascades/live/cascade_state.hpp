// What a Cascade is made of. Every member is called with the mutex held.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "host/cascades/live/decision_log.hpp"
#include "host/outcomes/routing/isotonic_map.hpp"
#include "host/outcomes/routing/router.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/text_hash.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/cascade.hpp"
#include "pandora/error.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

// Numbers by which requests are known outside: unique over processes, restarts and forks that know nothing of each
// other.
//
//   number = epoch * 2^20 + (id mod 2^20), below 2^53, so that JSON and Python carry it exactly
//
// The id counts requests from the cascade's first one on. An epoch has 33 bits, the first of which is set; whoever
// begins requests draws one, and after 2^20 requests it is followed by another one. Epoch 0: number = id.
inline constexpr int kEpochBits = 33, kOfAnEpochBits = 20;
inline constexpr std::uint64_t kFirstEpoch = std::uint64_t{1} << (kEpochBits - 1), kEpochEnd = 2 * kFirstEpoch,
                               kOfAnEpoch = std::uint64_t{1} << kOfAnEpochBits, kNumberEnd = kEpochEnd * kOfAnEpoch;

inline std::uint64_t drawn_epoch() {
  return kFirstEpoch | std::random_device()();  // 32 bits of the system's
}
/// The epoch of request `id`, which comes next; `epoch`: of the one before. SplitMix64, so that calls that are made
/// again have their numbers.
inline std::uint64_t epoch_of(std::uint64_t id, std::uint64_t epoch) {
  return epoch == 0 || id % kOfAnEpoch != 0 ? epoch : kFirstEpoch | (mixed(epoch + 0x9e3779b97f4a7c15u) >> 32);
}
inline std::uint64_t number_of(std::uint64_t id, std::uint64_t epoch) {
  return epoch == 0 ? id : epoch * kOfAnEpoch + id % kOfAnEpoch;
}

inline constexpr std::uint64_t kMostState = std::uint64_t{512} << 20;  // bytes of what a saved cascade has learned
inline constexpr std::size_t kMostPlans = 2 * kMaxBoxes;               // of a router
inline constexpr int kLeastSamples = 1000;                             // of each model, for which there must be room

/// A fork waits until nobody holds one of these, so that in the child none is held by a thread that is not there, and
/// what it guards is whole. Nobody may make or destroy one while holding another.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() {
    const std::lock_guard first(gate_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

  void begin_fork() {
    gate_.lock();
    mutex_.lock();
  }
  void end_fork() {
    mutex_.unlock();
    gate_.unlock();
  }

 private:
  std::mutex gate_;  // who waits holds it, so that a thread which locks again and again lets others in, and a fork
  std::mutex mutex_;
};

/// Of which this process comes, since the first ForkSafeMutex was made.
std::uint64_t forks_before();

/// Error (usage), "cascade: ...".
template <class... Values>
Error refusal(fmt::format_string<Values...> form, Values&&... values) {
  return Error(ExitCode::usage, "cascade: " + fmt::format(form, std::forward<Values>(values)...));
}
/// Models in order with thresholds as a lane.
LaneSpec thresholds_as_rules(const CascadePlan& plan);
/// Without that model, if it is there.
void leave_out(CascadePlan& plan, std::size_t model);

/// A request from begin() to feedback().
struct CascadeRequest {
  struct Call {
    std::size_t model = 0;
    double dollars = 0.0;
    double quality = 0.0;        // what the lane takes it for
    double shown = 0.0;          // mu of rules that know it
    std::vector<float> phi;      // of rules that learn it
    std::vector<double> scores;  // as they were observed, and how likely the call was, given what was seen before
    double latency = std::numeric_limits<double>::quiet_NaN(), propensity = 1.0;
    double deploy_propensity = 0.0;  // of its answer, given all calls
  };
  static constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

  std::uint64_t number = 0;  // by which it is known outside
  int period = 0;
  std::vector<float> psi;
  std::shared_ptr<const LaneSpec> rules;
  Order order = Order::by_score;
  Stop stop = Stop::never;
  std::vector<double> score, prediction, width, bonus;  // by model; the last three may be empty
  PeriodWalk<double> walk;
  std::vector<Call> calls;
  std::size_t next = kNothing;  // what is called next; nothing: the request is to be deployed
  double propensity = 1.0;      // of that
  struct PassedOver {
    std::size_t model = 0;
    double dollars = 0.0;
    std::string reason;  // why it failed; of a model that was skipped "skipped"
  };
  std::vector<PassedOver> passed_over;
  std::uint32_t resting = 0;  // models that rested when it began, a bit each
  bool only = false;          // it calls one model, that was named for it
  bool explored = false;      // a call was another one than the rules'
  bool deployed = false;
  nlohmann::json prompt = nlohmann::json::object();  // for the decision log: its text and columns
};

/// What a cascade that learns beside its decisions has not learned from yet.
struct WaitingLesson {
  std::uint64_t id = 0;
  int period = 0;
  std::vector<float> psi;
  std::vector<CascadeRequest::Call> calls;
  std::optional<double> quality;  // of calls[0], as feedback; none: outputs
};

/// Cascade::set_beside.
struct LearnsBeside {
  std::deque<WaitingLesson> waiting;
  std::uint64_t told = 0, learned = 0, adopted = 0;
  std::optional<WeitzmanEstimator> serving, prepared;  // prepared: after `learned`
};

struct Cascade::State {
  explicit State(const CascadeOptions& options);

  bool learns() const { return estimator != nullptr; }
  bool needs_feedback() const { return learns() && (rules->learns_reward() || rules->learns_payoff()); }
  int boxes() const { return static_cast<int>(names.size()); }
  bool reads_phi() const { return evaluator.kind == EvaluatorSpec::Kind::column; }
  std::size_t index_features() const {  // m; as in a study's table a context has one number at least
    return options.features.empty() ? static_cast<std::size_t>(options.index_features)
                                    : 1 + std::max<std::size_t>(1, features.size());
  }
  bool sees() const { return options.evaluator != kNoEvaluator; }
  std::size_t reward_features() const {  // d
    return reads_phi() ? static_cast<std::size_t>(options.reward_features) : 2 * names.size();
  }

  // The state while nobody else has it: state_->locked()->deploy(request).
  struct Locked {
    std::unique_lock<ForkSafeMutex> lock;
    State* state;
    State* operator->() const { return state; }
  };
  Locked locked() { return {std::unique_lock(mutex), this}; }

  // The same where nobody learns beside it and nothing waits: for what changes the estimator, or shows all of it.
  struct Alone {
    explicit Alone(State& all);
    ~Alone();
    State* operator->() const { return &state; }

    State& state;
    std::unique_lock<std::mutex> estimates;
    std::unique_lock<ForkSafeMutex> lock;
  };

  // Each of these either happens whole or throws and has changed nothing.
  void calibrate(int period, std::span<const float> psi, std::size_t model, const Observation& observation,
                 std::optional<double> quality);
  std::uint64_t begin(std::span<const float> psi, const Prompt* prompt);
  void observe(std::uint64_t number, std::size_t model, const Observation& observation);
  std::size_t deploy(std::uint64_t number);
  void feedback(std::uint64_t number, double quality);
  void pass_over(std::uint64_t number, std::size_t model, double dollars, const std::string& reason, bool failed);
  void only(std::uint64_t number, std::size_t model);
  void cancel(std::uint64_t number);
  std::size_t add_model(const std::string& name);
  void remove_model(const std::string& name);
  void set_price(double price);
  void set_explore(double explore);

  // beside.cpp
  std::uint64_t learn_waiting();
  void adopt(std::uint64_t more);
  bool is_beside() const { return beside != nullptr && !alone; }
  const WeitzmanEstimator& asked() const { return beside != nullptr ? *beside->serving : *estimator; }
  WeitzmanEstimator& asked() { return beside != nullptr ? *beside->serving : *estimator; }

  bool needs_score(const CascadeRequest& request) const {
    return learns() || request.walk.outcome.ranked > 1 || (options.explore > 0.0 && sees());
  }
  const CascadeRequest& request(std::uint64_t number) const { return requests.at(id_of(number)); }
  CascadeExplanation explain(std::uint64_t number) const;
  std::uint64_t present_epoch();

  // cascade_file.cpp
  nlohmann::json written() const;
  std::string written_state() const;
  void read_state(const nlohmann::json& packed);

  std::mutex estimating;  // held by whoever changes the estimator while it learns beside; taken before the other one
  ForkSafeMutex mutex;
  CascadeOptions options;  // order, thresholds, plans and price as they are now
  Router router;           // of plans
  EvaluatorSpec evaluator;
  FeatureMap features;
  std::set<std::string> columns;  // that features may be made of
  std::set<std::string> needed;   // those that they are made of
  bool needs_text = false;
  std::string features_digest;  // for the decision log
  std::vector<IsotonicMap> calibration;
  std::vector<CascadeModel> names;
  std::shared_ptr<const LaneSpec> rules;
  std::unique_ptr<WeitzmanEstimator> estimator;      // of the kind `indices` alone
  int most_held = 0;                                 // samples of each model, that a file has room for
  std::map<std::uint64_t, CascadeRequest> requests;  // by their ids: 1, 2, ...
  std::uint64_t last_id = 0, current = 0;            // current: whose period the estimator is in; 0: none
  std::optional<std::uint64_t> epoch;                // of the numbers of requests; drawn when it is asked for
  std::uint64_t forks = 0;                           // before it was drawn
  bool learning = true;
  CascadeCounts counts;
  std::unique_ptr<DecisionLog> decisions;
  std::unique_ptr<LearnsBeside> beside;
  bool alone = false;  // an Alone holds it

 private:
  class Attempt;

  IsotonicMap mean_calibration() const;
  void check() const;
  void take_features();
  void check_range() const;
  void require_memory() const;
  std::size_t bytes_of_a_request() const;
  void bound_memory();
  std::uint64_t id_of(std::uint64_t number) const;
  std::vector<float> taken(std::span<const float> psi) const;
  void require_dollars(double dollars) const;
  void require_observation(const Observation& observation, bool scored) const;
  void take_in(const WaitingLesson& lesson);
  std::uint64_t learn(const std::deque<WaitingLesson>& lessons);
  void make_current(std::uint64_t id, const CascadeRequest& request);
  void settle();
  void rank(std::uint64_t id, CascadeRequest& request);
  void choose_plan(CascadeRequest& request) const;
  CascadeRequest::Call seen(std::size_t model, const Observation& observation) const;
  Output output(const CascadeRequest::Call& call) const;
  bool go_on_without(CascadeRequest& request, int box) const;
  // endings.cpp
  CascadeRequest& to_call(std::uint64_t number, std::size_t model);
  bool is_absent(const CascadeRequest& request, std::size_t model) const;
  void leave_out_absent(CascadeRequest& request) const;
  std::uint32_t resting_at(std::uint64_t id) const;
  void begin_trials(std::uint64_t id);
  // exploration.cpp
  void choose_next(CascadeRequest& request) const;
  static void bring_forward(CascadeRequest& request, int box);
  std::size_t choose_deployed(CascadeRequest& request) const;
  double went_by_rules(const CascadeRequest& request) const;
  nlohmann::json decision_line(const CascadeRequest& request) const;
  template <class Line>
  void log(const Line& line) noexcept;
  void log_decision(const CascadeRequest& request) noexcept;
  void log_feedback(std::uint64_t number, double quality) noexcept;
};

/// A change that happens whole or not at all: takes back what happened to the estimator since it was made, unless
/// keep() was called; with `models` also what happened to models, price and rules. Requests and counts are changed
/// last, by what does not throw.
class Cascade::State::Attempt {
  auto parts() const {
    return std::tie(state_.options, state_.calibration, state_.names, state_.rules, state_.most_held);
  }

 public:
  explicit Attempt(State& state, bool models = false) : state_(state) {
    if (models) models_ = parts();
    if (marks_) state.estimator->mark();
  }
  ~Attempt() {
    if (kept_) {
      if (marks_) state_.estimator->commit();
      return;
    }
    if (marks_) state_.estimator->roll_back();
    if (!beside_) state_.current = current_;
    if (models_) parts() = std::move(*models_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void keep() { kept_ = true; }

 private:
  State& state_;
  const bool beside_ = state_.is_beside();  // then the estimator and what it is at are another thread's
  const std::uint64_t current_ = beside_ ? 0 : state_.current;
  const bool marks_ = state_.learns() && !beside_;
  std::optional<std::tuple<CascadeOptions, std::vector<IsotonicMap>, std::vector<CascadeModel>,
                           std::shared_ptr<const LaneSpec>, int>>
      models_;
  bool kept_ = false;
};

}  // namespace pandora
