// Policies written as code of their own: anything that plays the game of the paper's Section 2, period by period.
//
//   calibrate (T_0 times, or once per box at x_0), then in each period: begin, then next / opened until next returns
//   kStop or all boxes are open, then deploy, then learn.
//
// A policy that is a combination of known rules (orders, scores, stopping rules) is better written as a LaneSpec
// (kernels/rules/spec.hpp): it then runs in the fast engines and on a GPU.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pandora/lane.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// A request: what is known before anything is queried. A policy may keep requests, and outputs that it opened, beyond
/// their period: the spans stay what they are as long as the lane is run. Copy what is to outlive the lane.
struct Request {
  int period = 0;                 ///< 1..T online, 1..T_0 while calibrating, 0 for x_0
  std::span<const float> psi;     ///< m features psi(x_t), psi[0] = 1
  std::span<const double> sigma;  ///< A oracle indices sigma_a^*(x_t), NaN but for yardsticks; empty while calibrating
  unsigned there = kAllBoxes;     ///< bit a: box a can be opened; others have not come yet, or have gone
};

/// What opening a box reveals.
struct Output {
  int box = 0;                 ///< 0..A-1
  std::span<const float> phi;  ///< d features phi(x_t, omega_ta)
  double cost = 0.0;           ///< c_a(x_t, omega_ta)
  double mu = 0.0;             ///< mu*(x_t, omega_ta), NaN unless the policy's reward setting is "known"
};

/// What a policy is shown beside what all are. The rest is NaN, so that nobody is told by accident what they did not
/// say that they may see.
struct Shown {
  bool mu = true;     ///< of opened outputs: its reward setting is "known"
  bool sigma = true;  ///< it is a yardstick
};

class CustomPolicy {
 public:
  static constexpr int kStop = -1;

  virtual ~CustomPolicy() = default;

  /// A period in which `output.box` was queried and deployed. With T_0 = 0 every box is queried once at x_0 and there
  /// is no reward.
  virtual void calibrate(const Request& request, const Output& output, std::optional<double> reward) {
    (void)request, (void)output, (void)reward;
  }
  /// A period begins.
  virtual void begin(const Request& request) = 0;
  /// The box to open next, one that is there and not yet open in this period, or kStop once one is open.
  virtual int next() = 0;
  /// Box `output.box`, which next() named, was opened.
  virtual void opened(const Output& output) = 0;
  /// The box to deploy, one of the open ones.
  virtual int deploy() = 0;
  /// The boxes that it would have opened next in this period, the first of them first, if it has such an order; open
  /// ones may be among them. Only the parts of the regret (kernels/rules/regret.hpp) depend on it. Called after deploy.
  virtual std::vector<int> ranking() const { return {}; }
  /// How many of these outputs, those of all boxes in the oracle's order, its own stopping would open in this period.
  /// Outputs that it has not opened are NaN; box a is then worth worth[a], mu*, to it. Nothing: as many as it opened in
  /// its own order. Only the parts of the regret depend on it, and nothing may be learned from it. Called after deploy.
  virtual std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) {
    (void)outputs, (void)worth;
    return {};
  }
  /// The A numbers by which it ranked the boxes in this period, if it has such; `explain` shows them. Called after
  /// deploy.
  virtual std::vector<double> scores() const { return {}; }
  /// The realised reward, 0 or 1, of the deployed output; NaN where a study's [feedback] keeps it back.
  virtual void learn(double reward) { (void)reward; }
  /// Whether it can do without: learn() then takes NaN, and what comes later comes through learn_late(). A study with
  /// such a [feedback] ends the lanes of a policy that says false.
  virtual bool waits_for_rewards() const { return false; }
  /// Whether it follows a study's feedback.restart by itself, as what learns with a WeitzmanEstimator does, or has
  /// nothing to lose. A study with such a restart ends the lanes of a policy that says false.
  virtual bool restarts() const { return false; }
  /// The reward of an earlier period (1, 2, ...), which comes at the end of this one. Called before learn().
  virtual void learn_late(int period, double reward) { (void)period, (void)reward; }
};

/// Ends the lane if the run was interrupted: throws Error (interrupted), to be passed through. It is called between the
/// periods of a policy; code that works for seconds on end within one calls it now and then.
void end_lane_if_interrupted();

/// While one of these stands, end_lane_if_interrupted() in this thread looks at the flag, which may be null. One stands
/// while an environment's code draws and while a policy's plays.
class InterruptOfLane {
 public:
  explicit InterruptOfLane(const std::atomic<bool>* flag);
  ~InterruptOfLane();
  InterruptOfLane(const InterruptOfLane&) = delete;
  InterruptOfLane& operator=(const InterruptOfLane&) = delete;

  /// The flag of the one that stands in this thread; null if there is none.
  static const std::atomic<bool>* flag();

 private:
  const std::atomic<bool>* const before_;
};

/// Runs the policy over the replication's tape. If it breaks the rules above or throws, the lane ends there and its
/// tally says so (Failure::policy) and `why`, which may be null, what it did or threw. Error and std::bad_alloc pass
/// through. `outcomes`, which may be null, are what it did in each completed period.
LaneTally run_custom_lane(const Replication& replication, CustomPolicy& policy, int T0, std::string* why = nullptr,
                          std::vector<PeriodOutcome>* outcomes = nullptr, Shown shown = {});

}  // namespace pandora
