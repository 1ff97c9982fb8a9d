// DOW that starts anew when a detector finds that the problem has changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "change_detector.hpp"
#include "pandora/policy.hpp"
#include "pandora/weitzman.hpp"

namespace pandora::rivals {
namespace {

// DOW with a detector of changes and global restarts. This is the usual way to fit a stationary bandit policy to
// piecewise stationary problems (Besson and Kaufmann 2019 for arms; Gerogiannis, Huang, Bose and Veeravalli, arXiv
// 2501.19401, for any policy: "detection augmented learning"). The detector watches the moment of the index loss of
// every opened output (eq:known-theta-moment-function), at the rho_hat before the output was opened. If rho_hat is
// right, the moment's mean is 0 in every context.
class RestartingDow : public WeitzmanPolicy {
 public:
  RestartingDow(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options, int window)
      : WeitzmanPolicy(replication, rules, options),
        shape_(EstimatorShape::of(replication)),
        rules_(rules),
        options_(options) {
    // A union bound over all tests of a horizon in which every box is opened in every period.
    const double outputs = static_cast<double>(boxes()) * replication.tape.online_rows;
    const double tests = std::max(1.0, ChangeDetector::tests(outputs, window));
    detectors_.assign(static_cast<std::size_t>(boxes()), ChangeDetector(window, kFalseRestarts / tests));
    // Without samples an index consists of its bonus alone, which may stay below all other indices.
    rules_.forced = std::max(rules_.forced, kForced);
  }

  /// Outputs that were deployed before the restart belong to the old problem.
  void learn_late(int period, double reward) override {
    if (period > restarted_) WeitzmanPolicy::learn_late(period, reward);
  }

  /// The memory of an estimator, and of its successor while both exist: V^-1 and, with steps, H^-1 of each box; all
  /// contexts and features, whose memory grows by doubling; and the moments.
  static CodeDemand demand(const Dimensions& dimensions, int T0, int periods) {
    const auto u64 = [](int n) { return static_cast<std::uint64_t>(n); };
    const std::uint64_t m = u64(dimensions.index_size()), d = u64(dimensions.reward_features),
                        A = u64(dimensions.boxes);
    const std::uint64_t rows = u64(std::max(T0, dimensions.boxes)) + u64(periods);
    return {4 * sizeof(double) * m * m * A + 3 * sizeof(float) * (m + d * A) * rows + 8 * sizeof(double) * A * rows, 2};
  }

 protected:
  void learn_from(std::span<const Output> open, int deployed, double reward) override {
    bool changed = false;
    for (const Output& output : open)
      if (estimator().samples(output.box) >= kSettled * shape_.index_features)
        changed = detectors_[static_cast<std::size_t>(output.box)].add(moment(output)) || changed;
    WeitzmanPolicy::learn_from(open, deployed, reward);
    if (changed) restart();
  }

 private:
  // The probability of any false restart within the horizon, if the moments of each box are exchangeable. The test is
  // Kolmogorov's and Smirnov's, whose level holds for every law. Moments have an atom at the cost and a long tail below
  // it, so the mean of a hundred is far from normal at levels of 1e-4. (In trials at the paper's size, without
  // kSettled, a t test restarted 14 times in 480 lanes without change and missed 38 swaps of 160; this test restarted 4
  // times and missed 5.)
  static constexpr double kFalseRestarts = 0.05;
  // Samples of a box per coefficient before its moments are used. With few samples, rho_hat changes much when it is
  // solved again with half as many samples more. Most false restarts in trials without this bound followed such a
  // solve.
  static constexpr int kSettled = 5;
  static constexpr int kForced = 5;  // samples of each box before indices decide, as in shrunk_weitzman

  // c - (mu_hat - Lambda(rho_hat' psi))^+, without the bonuses, as rho_hat is fitted
  double moment(const Output& output) {
    double mu = output.mu;
    if (const std::span<const double> theta = estimator().theta(); !theta.empty()) {
      double z = 0.0;
      for (std::size_t k = 0; k < theta.size(); ++k) z += theta[k] * output.phi[k];
      mu = logistic(z);
    }
    return output.cost - std::max(0.0, mu - std::tanh(estimator().linear(output.box)));
  }

  // Restarts all boxes, even if one has changed, because boxes that are seldom opened show a change late.
  void restart() {
    estimator() = WeitzmanEstimator(shape_, rules_, options_);
    for (ChangeDetector& detector : detectors_) detector.reset();
    restarted_ = request().period;
  }

  const EstimatorShape shape_;
  LaneSpec rules_;  // after a restart
  const EstimationOptions options_;
  std::vector<ChangeDetector> detectors_;  // of the boxes
  int restarted_ = 0;                      // the period at whose end it restarted
};

PolicyVariant variant_of(const RewardSetting& setting, const std::string& hyperparameter, double c_rho, double c_theta,
                         double window) {
  return {setting.name,
          hyperparameter,
          {},
          [=](const Replication& replication, int T0, const EstimationOptions& options) {
            const Tape& tape = replication.tape;
            const LaneSpec rules = with_estimation(weitzman_lane(T0, Learning::online, setting.model, c_rho, c_theta),
                                                   options, tape.boxes(), tape.contexts.index_size,
                                                   tape.contexts.reward_features, tape.online_rows);
            return std::make_unique<RestartingDow>(replication, rules, options,
                                                   std::max(2, static_cast<int>(std::lround(window))));
          },
          RestartingDow::demand};
}

}  // namespace

Policy restarting_dow() {
  return {.name = "restarting_dow",
          .title = "Restarting DOW",
          .group = PolicyGroup::past_the_paper,
          .summary = "DOW that starts again when a two-sample test on the moments of its index loss finds a change",
          .by_name_only = true,
          .hyperparameters = {{"c_rho", "factor of the index bonus, in place of B_at"},
                              {"c_theta", "factor of the reward bonus, in place of beta_t"},
                              {"restart_window",
                               "outputs of a box that restarting_dow compares with those before them",
                               {100.0},
                               10.0}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              for (const double c_rho : grids.values("c_rho"))
                for (const double c_theta : grids.values("c_theta")) {
                  const bool learns = setting.model == RewardModel::learned;
                  if (!learns && c_theta != grids.values("c_theta").front()) continue;  // no bonus on a known reward
                  for (const double window : grids.values("restart_window"))
                    variants.push_back(
                        variant_of(setting,
                                   learns ? fmt::format("c_rho={};c_theta={};restart_window={}", c_rho, c_theta, window)
                                          : fmt::format("c_rho={};restart_window={}", c_rho, window),
                                   c_rho, learns ? c_theta : 0.0, window));
                }
            return variants;
          }};
}

}  // namespace pandora::rivals
