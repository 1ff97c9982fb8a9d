// Building blocks of policies that learn Weitzman's indices: what the built-in ones learn with, as an object that a
// policy of one's own holds; and a whole policy of which parts can be replaced.
//
// The reference engine is made of the same object, so a policy that asks it the same questions as a built-in one has
// the same numbers in every digit (`--engine reference`).
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

/// What an estimator has to know of where it works.
struct EstimatorShape {
  int boxes = 1;            ///< A, 1..16
  int index_features = 1;   ///< m
  int reward_features = 0;  ///< d, 0..64; 0 where mu* is known
  Stream exploration = {};  ///< of Thompson's draws

  static EstimatorShape of(const Replication& replication);
};

/// rho_hat, V^-1 and theta_hat, Phi^-1 with their widths, solved as the schedule says; everything in double. What is
/// learned follows from `rules` (kernels/rules/spec.hpp): loss and fit of rho_hat, whether mu* is known, whether
/// samples are learned from after the calibration, and whether there is a bonus (without one no design matrix is kept).
///
/// In a period: begin, any questions, then learn. Before the first: calibrate for every calibration period, as
/// CustomPolicy is told of them.
class WeitzmanEstimator {
 public:
  WeitzmanEstimator(const EstimatorShape& shape, const LaneSpec& rules, const EstimationOptions& options);
  /// The shape of a replication; nothing that a policy must not see.
  WeitzmanEstimator(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options);
  ~WeitzmanEstimator();
  WeitzmanEstimator(WeitzmanEstimator&&) noexcept;
  WeitzmanEstimator& operator=(WeitzmanEstimator&& other) noexcept {
    state_.swap(other.state_);
    return *this;
  }

  void calibrate(const Request& request, const Output& output, std::optional<double> reward);
  /// After the calibration, before the first begin(): its solves set out from what `near` has solved for nearly the
  /// same samples, and need fewer steps. They end where they would, up to their tolerance. Ignored where `near` has
  /// another shape.
  void start_at(const WeitzmanEstimator& near);

  /// A period begins; estimates of the calibration are solved before the first.
  void begin(const Request& request);

  /// rho_hat_a' psi(x_t); LinUCB's eta_hat_a' psi.
  double linear(int box) const;
  /// ||psi(x_t)||_{V_a^-1}, of C_aa for a shrunk fit; 0 where the rules have no bonus on a width.
  double width(int box);
  /// What the rules put on the width: c_rho (or c_b) times its schedule, and times a draw under Thompson's rule.
  double bonus(int box) const;
  /// Lambda(linear + bonus * width), (eq:tilde:sigma:theta:known); kForcedScore for a box that must be opened. Without
  /// a link for LinUCB and the linear-quadratic loss.
  double index(int box) { return index(box, bonus(box)); }
  double index(int box, double bonus);
  /// mu of an opened output: mu*, or G(theta_hat' phi + c_theta ||phi||_{Phi^-1}), (eq:mu:tilde).
  double reward(const Output& output) const;
  /// ||phi||_{Phi^-1}
  double reward_width(std::span<const float> phi) const;

  /// n_a
  int samples(int box) const;
  std::span<const double> rho(int box) const;  ///< m
  std::span<const double> theta() const;       ///< d; empty where mu* is known

  /// Ends the period: the outputs that were opened, in order, of which the one of box `deployed` brought `reward`.
  /// Throws LaneFailure if an estimate cannot be solved for.
  void learn(std::span<const Output> opened, int deployed, double reward);

  // learn() in its three steps, for feedback that comes late: the first two are of the period that has begun last
  // (begin it anew if another one has begun since).
  void learn_outputs(std::span<const Output> opened);
  void learn_reward(const Output& deployed, double reward) { learn_rewards({&deployed, 1}, {&reward, 1}); }
  /// Several that come in the same period: theta_hat takes a step for each, and then a solve if one is due. Rules that
  /// learn payoffs take one at a time, each of the period that has begun last.
  void learn_rewards(std::span<const Output> deployed, std::span<const double> rewards);
  /// What the schedule says for the end of a period, where solves are due.
  void end_period();
  /// Whether something was learned since the last end_period().
  bool unsettled() const;
  /// Refits of Fit::shrunk that ended at their greatest number of steps, above their tolerance.
  int unsolved_refits() const;

  /// What it would answer now, without its samples: of a copy only the questions of a period may be asked, and begin().
  WeitzmanEstimator estimates() const;

  /// The costs of all samples times a factor, and estimates solved again. Not for rules that learn payoffs.
  void scale_costs(double factor);
  /// A box more, without samples, and so many reward features more, which are 0 in all that was seen.
  void add_box(int more_reward_features);
  /// EstimationOptions::most_samples from here on.
  void keep_at_most(int samples);

  /// What happens after mark() can be taken back, also after an exception out of any member: roll_back() makes the
  /// estimator what it was then, in every bit, and commit() makes it stay as it is.
  void mark();
  void commit() noexcept;
  void roll_back() noexcept;

  /// How many samples every box may have for saved() to be no longer than so many bytes, but for a few hundred.
  int most_samples_within(std::size_t bytes) const;
  /// All that was learned, in bytes that depend on nothing else. Without samples: what a period is asked for; an
  /// estimator that they are restored into answers as this one does, and cannot go on learning.
  std::string saved(bool with_samples = true) const;
  /// Into an estimator of the same shape, rules and options; throws Damaged (host/ground/files/sealed_file.hpp) if the
  /// bytes are not what saved() gave for such a one.
  void restore(std::string_view bytes);

  struct State;

 private:
  explicit WeitzmanEstimator(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Weitzman's rule with such estimates. As it stands it is the built-in policy of its rules; override what differs,
/// here or of IndexPolicy.
class WeitzmanPolicy : public IndexPolicy {
 public:
  WeitzmanPolicy(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options)
      : IndexPolicy(replication.tape.boxes()),
        payoffs_(rules.learns_payoff()),
        estimator_(replication, rules, options) {}

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    estimator_.calibrate(request, output, reward);
  }
  /// Rules that learn payoffs from the deployed output's reward do not.
  bool waits_for_rewards() const override { return !payoffs_; }
  bool restarts() const override { return true; }
  void learn_late(int period, double reward) override;

 protected:
  WeitzmanEstimator& estimator() { return estimator_; }

  /// The factor on the width in a box's score.
  virtual double bonus(int box) { return estimator_.bonus(box); }
  /// Whether the period's outputs are learned from.
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
  std::map<int, Output> waiting_;  // by period: deployed outputs that it learns from when their rewards come
  std::vector<Output> told_;       // those whose rewards have come in this period
  std::vector<double> rewards_;
};

}  // namespace pandora
