// Explains single periods of a lane: what it saw, what it did and why, and what the oracle would have done.
#pragma once

#include <nlohmann/json.hpp>

#include "host/studies/run/find_lane.hpp"

namespace pandora {

/// `told` is the output of `pandora explain --format json`. Boxes and periods count from 1; NaN is null:
///
///   lane, models         its name; names of the boxes of a table of outcomes
///   score                the score by which boxes are ranked, or empty; reward_known: whether the lane sees mu*
///   periods              period, prompt (of a table), psi, reward (of the deployed output), regret, regret_so_far (of
///                        1 .. t), reward_shift (theta_*' Q x_t if all boxes share it), boxes, policy and oracle
///   boxes                box, sigma (the oracle's index), scale (s_a(x_t) of the output's shock), context_cost,
///                        expected_cost (E[c_a(x_t, omega)], which sigma balances; null if the environment is code),
///                        reward_shift, score; if it is learned prediction (rho_hat' psi, LinUCB's eta_hat' psi),
///                        width (||psi||_{V^-1}) and bonus; "there": false if the box cannot be opened
///   policy, oracle       queries in order (box, mu, cost, estimate: the lane's mu of the output unless its code does
///                        not tell it), deployed, stopped (why), utility
struct Explanation {
  nlohmann::json told;
  std::string prediction_name = {};  ///< what the lane learns for scores, such as rho'psi; or empty
  bool linked = false;               ///< whether a score is tanh(prediction + bonus) and not the sum itself
};

/// Explains periods `first` to `last`, counted from 1. Runs the lane alone with the study's engine on the CPU. Throws
/// Error (usage) if a period does not exist, and Error (internal) if the lane fails before.
Explanation explain(const FoundLane& found, int first, int last);

/// The explanation as text.
std::string explanation_text(const Explanation& explanation);

}  // namespace pandora
