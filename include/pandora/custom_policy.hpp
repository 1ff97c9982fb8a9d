// Policies written as code: anything that plays the game of the paper's Section 2, period by period.
//
//   calibrate (T_0 times, or once per box at x_0), then in each period: begin, then next / opened until next returns
//   kStop or all boxes are open, then deploy, then learn.
//
// If a policy is a combination of known rules (orders, scores, stopping rules), write it as a LaneSpec instead
// (kernels/rules/spec.hpp): it then runs in the blocked engine, on CPUs and GPUs.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pandora/lane.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// A request: everything that is known before a box is opened. A policy may keep requests, and outputs that it opened,
/// beyond their period: the spans stay valid and unchanged as long as the lane runs. Copy data that must outlive the
/// lane.
struct Request {
  int period = 0;                 ///< 1..T online, 1..T_0 while calibrating, 0 for x_0
  std::span<const float> psi;     ///< m features psi(x_t), psi[0] = 1
  std::span<const double> sigma;  ///< A oracle indices sigma_a^*(x_t), NaN unless a yardstick; empty while calibrating
  unsigned there = kAllBoxes;     ///< bit a: box a can be opened; other boxes have not come yet, or have gone
};

/// The data that opening a box reveals.
struct Output {
  int box = 0;                 ///< 0..A-1
  std::span<const float> phi;  ///< d features phi(x_t, omega_ta)
  double cost = 0.0;           ///< c_a(x_t, omega_ta)
  double mu = 0.0;             ///< mu*(x_t, omega_ta), NaN unless the policy's reward setting is "known"
};

/// The hidden values that a policy may see, beside those that all policies see. The others are NaN, so that no policy
/// sees by accident a value that it did not ask for.
struct Shown {
  bool mu = true;     ///< mu of opened outputs, because its reward setting is "known"
  bool sigma = true;  ///< sigma, because it is a yardstick
};

class CustomPolicy {
 public:
  static constexpr int kStop = -1, kOutside = -2;

  virtual ~CustomPolicy() = default;

  /// Takes a calibration period, in which `output.box` was queried and deployed. With T_0 = 0 every box is queried once
  /// at x_0, and there is no reward.
  virtual void calibrate(const Request& request, const Output& output, std::optional<double> reward) {
    (void)request, (void)output, (void)reward;
  }
  /// Called when a period begins.
  virtual void begin(const Request& request) = 0;
  /// Returns the box to open next, or kStop. The box must be there and not yet open in this period; kStop needs an open
  /// box, unless the study's [actions] allow to open none.
  virtual int next() = 0;
  /// Called after box `output.box`, which next() returned, was opened.
  virtual void opened(const Output& output) = 0;
  /// Returns the box to deploy, one of the open ones. Where a study's [actions] allow it, the box need not be open, or
  /// kOutside ends the period without one. Code opens each box once, also where the study allows more openings.
  virtual int deploy() = 0;
  /// Returns the boxes that the policy would have opened next in this period, in order, if it has such an order; open
  /// boxes may be among them. Only the parts of the regret (kernels/rules/regret.hpp) depend on it. Called after
  /// deploy.
  virtual std::vector<int> ranking() const { return {}; }
  /// Returns how many boxes the policy's own stopping rule would open in this period if boxes came in the oracle's
  /// order. `outputs` lists the boxes that can be opened in this period, in that order. An output that the policy did
  /// not open has NaN for its features, cost and mu; the policy should value such a box a at worth[a], its true mu*. If
  /// it returns nothing, the number of boxes that it really opened is used. Only the parts of the regret depend on the
  /// result, and the policy must not learn from the call. Called after deploy.
  virtual std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) {
    (void)outputs, (void)worth;
    return {};
  }
  /// Returns the A numbers by which the policy ranked the boxes in this period, if it has such numbers; `explain` shows
  /// them. Called after deploy.
  virtual std::vector<double> scores() const { return {}; }
  /// Takes the realised reward, 0 or 1, of the deployed output; NaN where a study's [feedback] withholds it.
  virtual void learn(double reward) { (void)reward; }
  /// Whether the policy accepts missing and late rewards: learn() then takes NaN, and late rewards come through
  /// learn_late(). A study with such a [feedback] ends the lanes of a policy that returns false.
  virtual bool waits_for_rewards() const { return false; }
  /// Whether the policy follows a study's feedback.restart by itself (as a policy that learns with a WeitzmanEstimator
  /// does), or learns nothing that it could lose. At a restart, policies forget what they learned in the last periods.
  /// A study with such a restart ends the lanes of a policy that returns false.
  virtual bool restarts() const { return false; }
  /// Takes the reward of an earlier period (1, 2, ...), which comes at the end of this one. Called before learn().
  virtual void learn_late(int period, double reward) { (void)period, (void)reward; }
};

/// Ends the lane if the run was interrupted: throws Error (interrupted), which the policy must let pass. The engine
/// calls it between a policy's periods. Code that works for seconds within a period should call it now and then.
void end_lane_if_interrupted();

/// While an object of this class exists, end_lane_if_interrupted() in the same thread reads its flag, which may be
/// null. One exists while an environment's code draws and while a policy plays.
class InterruptOfLane {
 public:
  explicit InterruptOfLane(const std::atomic<bool>* flag);
  ~InterruptOfLane();
  InterruptOfLane(const InterruptOfLane&) = delete;
  InterruptOfLane& operator=(const InterruptOfLane&) = delete;

  /// The flag of this thread's object; null if there is none.
  static const std::atomic<bool>* flag();

 private:
  const std::atomic<bool>* const before_;
};

/// Runs the policy over the replication's tape. If the policy breaks the rules above or throws, the lane ends. The
/// tally then says Failure::policy, and `why` (which may be null) says what the policy did or threw. Error and
/// std::bad_alloc pass through. `outcomes` (which may be null) receives the decisions of each completed period.
LaneTally run_custom_lane(const Replication& replication, CustomPolicy& policy, int T0, std::string* why = nullptr,
                          std::vector<PeriodOutcome>* outcomes = nullptr, Shown shown = {});

}  // namespace pandora
