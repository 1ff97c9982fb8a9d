// A study's settings of estimation, which hold for all policies.
#pragma once

#include <optional>

#include "kernels/rules/forgetting.hpp"
#include "kernels/rules/refit_schedule.hpp"
#include "kernels/rules/ridges.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// The constants of Section 4 that the paper leaves open, for Bonus::theory.
struct TheoryConstants {
  double delta = 0.05;     ///< confidence, in (0, 1)
  double C_1 = 1.0;        ///< for B_at* (eq:index:error:theta:known)
  double C_2 = 1.0;        ///< for B_at (eq:index:error:unknown:theta)
  double d_B = 1.0;        ///< diameter of the set of index parameters
  double C_phi = 1.0;      ///< bound of ||phi||
  double gamma_0 = 1.0;    ///< for beta_t (eq:beta:t-1)
  double mu_min = 1.0;     ///< least slope of G, for beta_t
  double alpha_bar = 1.0;  ///< bound of ||theta_*||, for beta_t
};

struct EstimationOptions {
  RefitSchedule refit;
  double ridge_index = 1.0;   ///< eta_1 of (eq:known-theta-V) and of the loss's ridge term
  double ridge_reward = 1.0;  ///< eta_0 of (eq:hat:theta:def)
  RewardSchedule refit_reward = {};
  // These replace a policy's own values:
  std::optional<Bonus> bonus = {};
  std::optional<int> forced = {};  ///< LaneSpec::forced
  std::optional<Shrinkage> shrinkage = {};
  double ridge_mean = 1000.0, ridge_own = 1000.0;  ///< the same members of LaneSpec, for fits with a shrinkage
  std::optional<int> joint_steps = {};
  std::optional<double> joint_tolerance = {};
  TheoryConstants theory = {};
  Forgetting forgetting = {};
  double ridge_payoff = 1.0;  ///< for LinUCB's regression and its A
  // Only for the reference engine and for policies that are code:
  int most_samples = 0;  ///< of a box; with more, the older half is forgotten. 0: any number
  /// Replaces eta_1 on the slopes of every rho_a, in the loss and in V; 0: eta_1. Fit::shrunk and LinUCB ignore it.
  double ridge_slopes = 0.0;
  // Also only for these: radii of the balls around 0 over which the paper minimises, that is, B of
  // (eq:known-theta-rho-estimator), (eq:hat:rho:at) and Theta of (eq:hat:theta:def). 0: no bound.
  double radius_rho = 0.0, radius_theta = 0.0;
  double ridge_loss = 0.0;  ///< also only for these: the loss's ridge on all coordinates; V keeps its own. 0: that of V

  /// The ridges of a lane's V, or of LinUCB's A.
  Ridges design_ridges(const LaneSpec& spec) const {
    return spec.learns_payoff() ? Ridges(ridge_payoff) : index_ridges();
  }
  /// diag(eta_1, eta_slopes, ..., eta_slopes): the ridges of V, and of the loss unless it has its own.
  Ridges index_ridges() const { return {ridge_index, ridge_slopes > 0.0 ? ridge_slopes : ridge_index}; }
  Ridges loss_ridges() const { return ridge_loss > 0.0 ? Ridges(ridge_loss) : index_ridges(); }
};

/// The lane's spec with the study's settings of estimation. A, m, d, T: its dimensions and horizon.
inline LaneSpec with_estimation(LaneSpec spec, const EstimationOptions& options, int A, int m, int d, int T) {
  const TheoryConstants& say = options.theory;
  const bool learns = spec.learns_reward();
  if (options.bonus) spec.bonus.kind = *options.bonus;
  if (options.forced && spec.learns_index() && spec.online()) spec.forced = *options.forced;
  if (options.shrinkage && spec.shrinkage != Shrinkage::tied) {
    spec.shrinkage = *options.shrinkage;
    spec.ridge_mean = options.ridge_mean;
    spec.ridge_own = options.ridge_own;
  }
  if (options.joint_steps) spec.joint_steps = *options.joint_steps;
  if (options.joint_tolerance) spec.joint_tolerance = *options.joint_tolerance;
  const double slope = say.mu_min < 1.0 ? say.mu_min : 1.0;
  Theory& theory = spec.bonus.theory;
  theory.scale = learns ? say.C_2 : std::sqrt(say.C_1);
  theory.base = m * std::log(static_cast<double>(T)) + std::log(static_cast<double>(T) * A / say.delta);
  // For the matrix D of ridges, the proof needs e'D e <= ridge * d_B^2 for differences e in B, so `ridge` is D's
  // largest number.
  const double ridge = spec.fits_jointly() ? options.ridge_index : options.index_ridges().greatest();
  theory.ridge = learns ? 0.0 : ridge * say.d_B * say.d_B;
  theory.features = d;
  theory.confidence = std::log(1.0 / say.delta);
  theory.reward_scale = 2.0 * say.gamma_0 / slope;
  theory.reward_offset = 2.0 * std::sqrt(options.ridge_reward) * say.alpha_bar / slope;
  theory.reward_growth = say.C_phi * say.C_phi / options.ridge_reward;
  theory.reward_confidence = 2.0 * std::log(3.0 / say.delta);
  return spec;
}

}  // namespace pandora
