// Building blocks of policies that learn Weitzman's indices: WeitzmanEstimator, the object with which the built-in
// policies learn and which your policy can hold, and WeitzmanPolicy, a whole policy of which you can replace parts.
//
// The reference engine uses the same object. A policy that asks it the same questions as a built-in policy therefore
// gets the same numbers in every digit (`--engine reference`).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rules/estimation.hpp"
#include "pandora/index_policy.hpp"

namespace pandora {

/// The sizes that an estimator needs to know.
struct EstimatorShape {
  int boxes = 1;            ///< A, 1..16
  int index_features = 1;   ///< m
  int reward_features = 0;  ///< d, 0..64; 0 where mu* is known
  Stream exploration = {};  ///< the random stream of Thompson's draws

  static EstimatorShape of(const Replication& replication);
};

/// Estimates rho_hat with V^-1 and theta_hat with Phi^-1, and their widths, in double, solved as the schedule says.
/// `rules` (kernels/rules/spec.hpp) say what is learned: loss and fit of rho_hat, whether mu* is known, whether the
/// estimator learns after the calibration, and whether there is a bonus (without one it keeps no design matrix).
///
/// Order of calls: first calibrate for every calibration period, as in CustomPolicy. Then in each period: begin, any
/// questions, learn.
class WeitzmanEstimator {
 public:
  WeitzmanEstimator(const EstimatorShape& shape, const LaneSpec& rules, const EstimationOptions& options);
  /// Takes the shape from a replication, and nothing that a policy must not see.
  WeitzmanEstimator(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options);
  ~WeitzmanEstimator();
  WeitzmanEstimator(WeitzmanEstimator&&) noexcept;
  WeitzmanEstimator& operator=(WeitzmanEstimator&& other) noexcept {
    state_.swap(other.state_);
    return *this;
  }

  void calibrate(const Request& request, const Output& output, std::optional<double> reward);
  /// Call it after the calibration and before the first begin(). Solves then start from the estimates of `near`, an
  /// estimator of nearly the same samples, and need fewer steps. They end at the same point, up to their tolerance.
  /// Ignored if `near` has another shape.
  void start_at(const WeitzmanEstimator& near);

  /// Begins a period. The first call also solves the estimates of the calibration.
  void begin(const Request& request);

  /// rho_hat_a' psi(x_t); for LinUCB eta_hat_a' psi.
  double linear(int box) const;
  /// ||psi(x_t)||_{V_a^-1}; for a shrunk fit with C_aa, box a's block of the joint fit's inverse Hessian, in place of
  /// V_a^-1. 0 if the rules have no bonus on a width.
  double width(int box);
  /// The factor on the width: c_rho (or c_b) times its schedule, and times a random draw under Thompson's rule.
  double bonus(int box) const;
  /// Lambda(linear + bonus * width), (eq:tilde:sigma:theta:known), or kForcedScore for a box with fewer samples
  /// than LaneSpec::forced.
  /// LinUCB and the linear-quadratic loss have no link Lambda.
  double index(int box) { return index(box, bonus(box)); }
  double index(int box, double bonus);
  /// The value of an opened output: mu*, or G(theta_hat' phi + c_theta ||phi||_{Phi^-1}), (eq:mu:tilde).
  double reward(const Output& output) const;
  /// ||phi||_{Phi^-1}
  double reward_width(std::span<const float> phi) const;

  /// n_a, the number of samples of box a.
  int samples(int box) const;
  std::span<const double> rho(int box) const;  ///< m
  std::span<const double> theta() const;       ///< d; empty where mu* is known

  /// Ends the period. `opened` are the outputs in the order in which they were opened; `reward` belongs to the output
  /// of box `deployed`. Throws LaneFailure if an estimate cannot be solved for.
  void learn(std::span<const Output> opened, int deployed, double reward);

  // learn() in three steps, for feedback that comes late: learn_outputs, learn_rewards, end_period. The first two refer
  // to the period that began last; to learn about another period, begin it again first.
  void learn_outputs(std::span<const Output> opened);
  void learn_reward(const Output& deployed, double reward) { learn_rewards({&deployed, 1}, {&reward, 1}); }
  /// Takes several rewards that come in the same period: theta_hat takes a step for each, and then a solve if one is
  /// due. Rules that learn payoffs take one reward at a time, which must belong to the period that began last.
  void learn_rewards(std::span<const Output> deployed, std::span<const double> rewards);
  /// Does the solves that are due at the end of a period by the schedule.
  void end_period();
  /// Whether something was learned since the last end_period().
  bool unsettled() const;
  /// Refits of Fit::shrunk that ended at their greatest number of steps, above their tolerance.
  int unsolved_refits() const;

  /// A copy without samples that answers as this estimator does now. The copy takes only begin() and the questions of a
  /// period.
  WeitzmanEstimator estimates() const;

  /// Multiplies the costs of all samples by a factor and solves the estimates again. Not for rules that learn payoffs.
  void scale_costs(double factor);
  /// Adds a box without samples, and this many reward features, which are 0 in all earlier samples.
  void add_box(int more_reward_features);
  /// Sets EstimationOptions::most_samples from here on.
  void keep_at_most(int samples);

  /// mark() begins a change that can be undone, also after a member threw an exception. roll_back() restores the
  /// estimator as it was at mark(), in every bit; commit() keeps the changes.
  void mark();
  void commit() noexcept;
  void roll_back() noexcept;

  /// How many samples each box may have for saved() to stay within `bytes`, give or take a few hundred bytes.
  int most_samples_within(std::size_t bytes) const;
  /// All that was learned, in bytes that depend on nothing else. Without samples, the bytes hold only what the
  /// questions of a period need: an estimator restored from them answers as this one does but cannot go on learning.
  std::string saved(bool with_samples = true) const;
  /// Restores saved bytes into an estimator of the same shape, rules and options. Throws Damaged
  /// (host/ground/files/sealed_file.hpp) if the bytes did not come from saved() of such an estimator.
  void restore(std::string_view bytes);

  struct State;

 private:
  explicit WeitzmanEstimator(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Weitzman's rule with a WeitzmanEstimator. With the same rules it is the built-in policy. Override those members of
/// this class or of IndexPolicy that differ.
class WeitzmanPolicy : public IndexPolicy {
 public:
  WeitzmanPolicy(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options)
      : IndexPolicy(replication.tape.boxes()),
        payoffs_(rules.learns_payoff()),
        estimator_(replication, rules, options) {}

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    estimator_.calibrate(request, output, reward);
  }
  /// Policies that learn payoffs from the deployed output's reward cannot take late rewards.
  bool waits_for_rewards() const override { return !payoffs_; }
  bool restarts() const override { return true; }
  void learn_late(int period, double reward) override;

 protected:
  WeitzmanEstimator& estimator() { return estimator_; }

  /// Returns the factor on the width in a box's score.
  virtual double bonus(int box) { return estimator_.bonus(box); }
  /// Returns whether the estimator learns from the period's outputs.
  virtual bool learns_from(std::span<const Output> open) {
    (void)open;
    return true;
  }

  void prepare(const Request& request) override { estimator_.begin(request); }
  double score(int box) override { return estimator_.index(box, bonus(box)); }
  double reward_of(const Output& output) override { return estimator_.reward(output); }
  void learn_from(std::span<const Output> open, int deployed, double reward) override;

 private:
  const bool payoffs_;
  WeitzmanEstimator estimator_;
  std::map<int, Output> waiting_;  // by period: deployed outputs whose rewards have not come yet
  std::vector<Output> told_;       // outputs whose rewards have come in this period
  std::vector<double> rewards_;
};

}  // namespace pandora
