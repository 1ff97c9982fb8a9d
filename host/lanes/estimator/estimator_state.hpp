// The state of a WeitzmanEstimator, and how it changes.
#pragma once

#include <Eigen/Core>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/lanes/estimator/index_fit.hpp"
#include "host/lanes/estimator/reward_fit.hpp"
#include "host/lanes/estimator/shared_matrix.hpp"
#include "host/lanes/estimator/shrunk_fit.hpp"
#include "kernels/rules/needs.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

struct BoxCounts {
  int count = 0;                 ///< n_a; LinUCB keeps no samples
  double mass = 0.0;             ///< the sum of the samples' weights; count is this, rounded
  int samples_at_solve = 0;      ///< n at the last exact solve
  int samples_at_curvature = 0;  ///< n when curvature_inverse and cross were last rebuilt
  bool due = false;              ///< whether the period ends with a solve of this box
  double reward_widths = 0.0;    ///< sum_s ||phi_s||^2_{Phi^-1}, where a bonus needs it
};

/// One box's index (or payoff) regression.
struct BoxEstimate : BoxCounts {
  Eigen::VectorXd rho;          ///< rho_hat_a, or LinUCB's eta_hat_a
  SharedMatrix design_inverse;  ///< V_a^-1 (eq:known-theta-V), lower triangle; empty without a bonus
  Eigen::VectorXd image;        ///< V_a^-1 psi(x_t) of the current period, where has_image
  double quadratic = 0.0;       ///< psi' V_a^-1 psi
  bool has_image = false;
  IndexSamples samples;
  /// `tracking`: Hinv = (diag(ridges) + sum h_s psi_s psi_s')^-1; for a shrunk fit C_aa
  SharedMatrix curvature_inverse;
  SharedMatrix cross;     ///< `tracking`: M = sum psi_s 1{active_s} G'_s phi_s'
  PackedTriangle packed;  ///< replaces the three in a copy that learns nothing
};

struct EstimatorCounts {
  int period = 0;    ///< the period of the current request
  int latest = 0;    ///< the last period that began; later than `period` while a late reward's period is begun anew
  int faded_at = 0;  ///< the period up to which samples have faded
  int reward_samples_at_solve = 0;
  bool has_row = false;  ///< whether psi is the last row of `contexts`
  bool calibrated = false;
  bool unsettled = false;  ///< whether something was learned since end_period()
};

/// The data that forgetting, other costs and an additional box change as a whole.
struct Learned {
  int A, d;
  EstimationOptions options;
  std::vector<double> reward_memory;
  std::vector<BoxEstimate> boxes = {};
  Contexts contexts = {};  ///< of the samples
  RewardSamples reward_samples = {};
  ShrunkFit joint = {};
};

struct WeitzmanEstimator::State : EstimatorCounts, Learned {
  State(const EstimatorShape& shape, const LaneSpec& spec, const EstimationOptions& how);
  struct WithoutSamples {};
  State(State& other, WithoutSamples);

  /// The t of the bonuses: all periods so far, with this one and those of the calibration.
  int time() const { return rules.T0 + period; }

  void begin(const Request& now);
  void calibrate(const Output& output, std::optional<double> reward);
  void finish_calibration();
  void learn_outputs(std::span<const Output> opened);
  void learn_rewards(std::span<const Output> deployed, std::span<const double> rewards);
  void end_period();
  void update_image(BoxEstimate& box);
  /// V_a^-1, or for a shrunk fit the matrix in its place.
  SharedMatrix& covariance(BoxEstimate& box) const {
    return rules.fits_jointly() ? box.curvature_inverse : box.design_inverse;
  }

  // estimator_changes.cpp
  /// Lowers the weights of old samples or forgets them, if the options say so. Called at the end of a period.
  void forget();
  /// Drops the older half of lists with more samples. Returns whether there were any.
  bool drop_old(int most);
  void rebuild_all();
  void solve_all();
  void add_box(int more_reward_features);
  void mark();
  void roll_back() noexcept;
  void about_to_change_all();

  // estimator_archive.cpp
  template <class Archive>
  void visit(Archive& archive);
  void restore(std::string_view bytes);

  const LaneSpec rules;
  const int m;
  const Stream exploration;
  const LaneNeeds needs;
  const bool only_asked = false;  ///< a copy that learns nothing: it needs no images
  Eigen::VectorXd psi;            // of the current request; empty before the first
  RewardState reward;

  // The values before all changes since mark(). Lists of samples only grow at their ends, so their lengths are enough.
  // An inverse is copied when it is about to change.
  struct Undo {
    struct Box {
      BoxCounts counts;
      Eigen::VectorXd rho;
      std::size_t samples;
      std::optional<std::vector<double>> mu;
      std::optional<std::array<SharedMatrix, 3>> matrices;
    };
    EstimatorCounts counts;
    Eigen::VectorXd psi;
    JointState joint;
    int rows;
    std::size_t rewards;
    std::vector<Box> boxes = {};
    std::optional<std::vector<double>> reward_memory = {};
    std::unique_ptr<Learned> all = {};  // a copy before changes of other kinds
  };
  std::unique_ptr<Undo> undo;  // none unless changes may be undone

 private:
  void about_to_change(const BoxEstimate& box, bool mu);
  void about_to_change_reward();
  BoxEstimate empty_box() const;
  void keep_context();
  // The `learned` of a new sample: 0 in the calibration.
  int learned_in() const { return calibrated ? latest : 0; }
  void add_index_sample(const Output& output);
  void step_index(const Output& output, bool exact_follows);
  void must_stay_in_ball(BoxEstimate& box) const;
  void add_cross(BoxEstimate& box, const Eigen::VectorXd& at, double mu, const float* phi);
  void plug_in(BoxEstimate& box);
  void solve_jointly();
  void take_covariances();
  void solve_index(int a);
  void rebuild_curvature(BoxEstimate& box);
  void add_payoff(const Output& output, double r);
  void add_reward_sample(const Output& output, double r);
  void solve_reward();
  // estimator_changes.cpp
  void fade(double factor);
  void keep_learned_between(int first, int last);  // periods, 0 is the calibration
  void refit_payoffs();
  Eigen::MatrixXd contexts_of(const BoxEstimate& box) const;
  void drop_unused_contexts();
};

}  // namespace pandora
