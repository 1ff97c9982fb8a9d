// What a Cascade is made of. Every member is called with the mutex held.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "host/traces/evaluator_spec.hpp"
#include "host/traces/features.hpp"
#include "host/traces/isotonic.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/cascade.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

/// A request from begin() to feedback().
struct CascadeRequest {
  struct Call {
    std::size_t model = 0;
    double dollars = 0.0;
    double quality = 0.0;    // what the lane takes it for
    double shown = 0.0;      // mu of rules that know it
    std::vector<float> phi;  // of rules that learn it
  };

  int period = 0;
  std::vector<float> psi;
  std::shared_ptr<const LaneSpec> rules;
  Order order = Order::by_score;
  Stop stop = Stop::never;
  std::vector<double> score, prediction, width, bonus;  // by model; the last three may be empty
  PeriodWalk<double> walk;
  std::vector<Call> calls;
  bool deployed = false;
};

struct Cascade::State {
  explicit State(const CascadeOptions& options);

  bool learns() const { return estimator != nullptr; }
  bool needs_feedback() const { return learns() && (rules->learns_reward() || rules->learns_payoff()); }
  int boxes() const { return static_cast<int>(names.size()); }
  std::size_t index_features() const;   // m
  std::size_t reward_features() const;  // d
  bool reads_phi() const { return evaluator.kind == EvaluatorSpec::Kind::column; }

  void calibrate(int period, std::span<const float> psi, std::size_t model, const Observation& observation,
                 std::optional<double> quality);
  std::uint64_t begin(std::span<const float> psi);
  void observe(std::uint64_t id, std::size_t model, const Observation& observation);
  std::size_t deploy(std::uint64_t id);
  void feedback(std::uint64_t id, double quality);
  CascadeRequest& request(std::uint64_t id);
  const CascadeRequest& request(std::uint64_t id) const { return const_cast<State*>(this)->request(id); }
  CascadeExplanation explain(std::uint64_t id) const;

  std::size_t add_model(const std::string& name);
  void remove_model(const std::string& name);
  void set_price(double price);
  void make_estimator();

  // cascade_file.cpp
  nlohmann::json written() const;
  void read_state(const nlohmann::json& packed);

  mutable std::mutex mutex;
  CascadeOptions options;  // order, thresholds and price as they are now
  EvaluatorSpec evaluator;
  FeatureMap features;
  std::set<std::string> columns;  // that the features use
  std::vector<IsotonicMap> calibration;
  std::vector<CascadeModel> names;
  std::shared_ptr<const LaneSpec> rules;
  std::unique_ptr<WeitzmanEstimator> estimator;  // none in the kind `thresholds`
  std::map<std::uint64_t, CascadeRequest> requests;
  std::uint64_t last_id = 0, current = 0;  // current: whose period the estimator is in; 0: none
  bool learning = true;
  CascadeCounts counts;

 private:
  void check() const;
  void require_context(std::span<const float> psi) const;
  void require_open(std::uint64_t id, const CascadeRequest& request) const;
  void require_observation(const Observation& observation) const;
  void make_current(std::uint64_t id, const CascadeRequest& request);
  void settle();
  void start_walk(CascadeRequest& request);
  CascadeRequest::Call seen(std::size_t model, const Observation& observation) const;
  Output output(const CascadeRequest::Call& call) const;
  void go_on_without(CascadeRequest& request, int box) const;
};

}  // namespace pandora
