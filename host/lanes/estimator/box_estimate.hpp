// What the reference keeps of a box.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "host/lanes/estimator/index_fit.hpp"

namespace pandora {

/// inverse <- (inverse^-1 + h psi psi')^-1 given image = inverse psi and quadratic = psi' image (Sherman-Morrison).
inline void rank_one_update(Eigen::MatrixXd& inverse, const Eigen::VectorXd& image, double quadratic, double h) {
  inverse.selfadjointView<Eigen::Lower>().rankUpdate(image, -h / (1.0 + h * quadratic));
}

/// One box's index (or payoff) regression.
struct BoxEstimate {
  Eigen::VectorXd rho;             ///< rho_hat_a, or LinUCB's eta_hat_a
  Eigen::MatrixXd design_inverse;  ///< V_a^-1 (eq:known-theta-V), lower triangle; empty without a bonus
  Eigen::VectorXd image;           ///< V_a^-1 psi(x_t) of the current period, where has_image
  double quadratic = 0.0;          ///< psi' V_a^-1 psi
  bool has_image = false;
  IndexSamples samples;
  std::vector<float> phi;      ///< their features, where the reward is learned
  int count = 0;               ///< n_a; LinUCB keeps no samples
  double mass = 0.0;           ///< the same as a sum of weights; count is this, rounded
  int samples_at_solve = 0;    ///< n at the last exact solve
  bool due = false;            ///< whether the period ends with a solve of this box
  double reward_widths = 0.0;  ///< sum_s ||phi_s||^2_{Phi^-1}, where a bonus takes it
  /// `tracking`: Hinv = (diag(ridges) + sum h_s psi_s psi_s')^-1; C_aa of a shrunk fit
  Eigen::MatrixXd curvature_inverse;
  Eigen::MatrixXd cross;         ///< `tracking`: M = sum psi_s 1{active_s} G'_s phi_s'
  int samples_at_curvature = 0;  ///< n when both were last rebuilt
};

}  // namespace pandora
