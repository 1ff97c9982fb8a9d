// The state that a lane must keep, given its spec and the schedule of its solves.
#pragma once

#include "kernels/rules/refit_schedule.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

struct LaneNeeds {
  bool design = false;     ///< V^-1, or LinUCB's A^-1
  bool widths = false;     ///< psi' V^-1 psi of online periods: every block needs the design
  bool curvature = false;  ///< Hinv; C_aa of a shrunk fit
  bool steps = false;      ///< a Newton step with every sample (`tracking`)
  bool response = false;   ///< Q, by which rho_hat follows theta_hat
};

inline LaneNeeds needs_of(const LaneSpec& spec, const RefitSchedule& refit) {
  LaneNeeds needs;
  const bool joint = spec.fits_jointly();
  needs.design = (spec.has_width_bonus() && !joint) || spec.learns_payoff();
  needs.widths = needs.design && (spec.online() || spec.has_width_bonus());
  needs.steps = spec.learns_index() && spec.online() && refit.kind == RefitSchedule::Kind::tracking;
  needs.curvature = needs.steps || (joint && spec.has_width_bonus());
  needs.response = needs.steps && spec.learns_reward() && !joint;
  return needs;
}

}  // namespace pandora
