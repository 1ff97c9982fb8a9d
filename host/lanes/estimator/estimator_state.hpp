// All that a WeitzmanEstimator has learned, and how it goes on.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/lanes/estimator/box_estimate.hpp"
#include "host/lanes/estimator/reward_fit.hpp"
#include "host/lanes/estimator/shrunk_fit.hpp"
#include "kernels/rules/needs.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

struct WeitzmanEstimator::State {
  State(const EstimatorShape& shape, const LaneSpec& spec, const EstimationOptions& how);

  /// t of the bonuses: the periods so far, this one and those of the calibration counted.
  int time() const { return rules.T0 + period; }

  void begin(const Request& now);
  void calibrate(const Output& output, std::optional<double> reward);
  void finish_calibration();
  void learn_outputs(std::span<const Output> opened);
  void learn_reward(const Output& deployed, double reward);
  void end_period();
  void update_image(BoxEstimate& box);

  // estimator_changes.cpp
  /// Old samples weigh less, or are forgotten, where the options say so: at the end of a period.
  void forget();
  void scale_costs(double factor);
  void add_box(int more_reward_features);
  void keep_at_most(int samples);

  // estimator_archive.cpp
  std::string saved() const;
  int most_samples_within(std::size_t bytes) const;
  void restore(std::string_view bytes);

  // estimator_undo.cpp
  void mark();
  void roll_back() noexcept;

  const LaneSpec rules;
  EstimationOptions options;
  int A;
  const int m;
  int d;
  const Stream exploration;
  const LaneNeeds needs;
  int period = 0;        // of the request that has begun
  Eigen::VectorXd psi;   // of it; empty before the first
  bool has_row = false;  // whether psi is the last row of `kept`
  bool calibrated = false;
  bool unsettled = false;  // whether something was learned since end_period()
  Tape kept;               // contexts of the samples, and features of the deployed ones
  std::vector<BoxEstimate> boxes;
  std::vector<double> reward_memory;
  RewardState reward;
  RewardSamples reward_samples;
  int reward_samples_at_solve = 0;
  int faded_at = 0;  // the period up to which samples have faded
  ShrunkFit joint;

  // What has been changed since mark(), as it was then. Lists of samples grow at their ends, so that of those that
  // nothing else happens to their lengths are enough; an inverse is kept when it is about to change.
  struct Undo {
    struct Box {
      Eigen::VectorXd rho;
      std::size_t samples, weights, phi;
      int count, samples_at_solve, samples_at_curvature;
      bool due;
      double mass, reward_widths;
      std::optional<std::vector<double>> mu;
      std::optional<std::vector<Eigen::MatrixXd>> matrices;
    };
    struct All {
      int A, d;
      std::vector<BoxEstimate> boxes;
      Tape kept;
      std::vector<double> reward_memory;
      RewardSamples reward_samples;
      ShrunkFit joint;
      EstimationOptions options;
    };
    int period, faded_at, rows, reward_samples_at_solve;
    bool has_row, calibrated, unsettled;
    Eigen::VectorXd psi;
    JointState joint;
    std::size_t contexts, phi, rewards, reward_weights;
    std::vector<Box> boxes;
    std::optional<std::vector<double>> reward_memory;
    std::unique_ptr<All> all;  // as it was when it was about to change in other ways
  };
  std::unique_ptr<Undo> undo;  // none where nothing is to be taken back

 private:
  void about_to_change(const BoxEstimate& box, bool mu);
  void about_to_change_reward();
  void about_to_change_all();
  BoxEstimate empty_box() const;
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
  bool drop_old(int most);
  template <class Stays>
  void drop_samples(BoxEstimate& box, const Stays& stays);
  template <class Stays>
  void drop_reward_samples(const Stays& stays);
  void solve_all();
  void drop_unused_contexts();
  void rebuild_all();
  template <class Archive>
  void visit(Archive& archive);
};

}  // namespace pandora
