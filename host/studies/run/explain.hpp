// Single periods of a lane, taken apart: what it saw, what it did and why, and what the oracle would have done.
#pragma once

#include <nlohmann/json.hpp>

#include "host/studies/run/find_lane.hpp"

namespace pandora {

/// `told` is what `pandora explain --format json` prints; boxes and periods count from 1, NaN is null:
///
///   lane, models         its name; names of the boxes of a table of outcomes
///   score                what boxes are ranked by, empty if the lane ranks by nothing; reward_known: whether it sees mu*
///   periods              period, prompt (of a table), psi, reward (of the deployed output), regret, regret_so_far (of
///                        1 .. t), reward_shift (theta_*' Q x_t where it is that of all boxes), boxes, policy and oracle
///   boxes                box, sigma (the oracle's index), scale (s_a(x_t) of the output's shock), context_cost,
///                        expected_cost (E[c_a(x_t, omega)], which sigma balances; null where the environment is code),
///                        reward_shift, score; where it is learned prediction (rho_hat' psi, LinUCB's eta_hat' psi),
///                        width (||psi||_{V^-1}) and bonus; "there": false where the box cannot be opened
///   policy, oracle       queries in order (box, mu, cost, estimate: the lane's mu of the output unless its code keeps
///                        that to itself), deployed, stopped (why), utility
struct Explanation {
  nlohmann::json told;
  std::string prediction_name = {};  ///< what is learned of scores, such as rho'psi; empty if nothing, or by code
  bool linked = false;               ///< whether a score is tanh(prediction + bonus) and not the sum itself
};

/// Periods `first` to `last`, 1-based. Runs the lane alone with the study's engine on the CPU. Throws Error (usage) if
/// a period is not there, Error (internal) if the lane fails before.
Explanation explain(const FoundLane& found, int first, int last);

/// The same in words.
std::string explanation_text(const Explanation& explanation);

}  // namespace pandora
