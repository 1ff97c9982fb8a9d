// What a lane has to carry, from its spec and the schedule of its solves.
#pragma once

#include "kernels/rules/refit_schedule.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

struct LaneNeeds {
  bool design = false;     ///< V^-1, or LinUCB's A^-1
  bool widths = false;     ///< psi' V^-1 psi of online periods: the design takes part in every block
  bool curvature = false;  ///< Hinv and the Newton step of every sample (`tracking`)
  bool response = false;   ///< Q, by which rho_hat follows theta_hat
};

inline LaneNeeds needs_of(const LaneSpec& spec, const RefitSchedule& refit) {
  LaneNeeds needs;
  needs.design = spec.has_width_bonus() || spec.learns_payoff();
  needs.widths = needs.design && (spec.online() || spec.has_width_bonus());
  needs.curvature = spec.learns_index() && spec.online() && refit.kind == RefitSchedule::Kind::tracking;
  needs.response = needs.curvature && spec.learns_reward();
  return needs;
}

}  // namespace pandora
