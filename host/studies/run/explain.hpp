// Single periods of a lane, taken apart: what it saw, what it did and why, and what the oracle would have done.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/studies/run/find_lane.hpp"

namespace pandora {

/// An opened box, in the order of opening.
struct ExplainedQuery {
  int box = 0;            ///< from 1
  double mu = 0.0;        ///< mu* of its output
  double cost = 0.0;      ///< c_a(x_t, omega_ta)
  double estimate = 0.0;  ///< the lane's mu of the output, (eq:mu:tilde); mu* itself where the reward is known
  bool known = true;      ///< whether there is an estimate: a policy of one's own keeps it to itself
};

struct ExplainedBox {
  int box = 0;              ///< from 1
  double prediction = 0.0;  ///< rho_hat' psi(x_t), LinUCB's eta_hat' psi
  double width = 0.0;       ///< ||psi(x_t)||_{V^-1}; 0 where the policy has no bonus
  double bonus = 0.0;       ///< what is added to the prediction: the width times a factor of the policy
  double score = 0.0;       ///< the number it is ranked by: Lambda(prediction + bonus), LinUCB's payoff
  double sigma = 0.0;       ///< the oracle's reservation index sigma*_a(x_t)
  /// E[c_a(x_t, omega)], which sigma balances (eq:oracle-weitzman-index); none where the environment is code of its own
  std::optional<double> expected_cost;
  double context_cost = 0.0;  ///< the part of it that the context alone tells, c_{0,a} G(beta_{0,a}' x)
  double scale = 0.0;         ///< s_a(x_t) of the output's shock; 0 where the environment tells none
  double reward_shift = 0.0;  ///< theta_*' Q x_t, with Q_a where each box has its own
};

struct ExplainedWalk {
  std::vector<ExplainedQuery> queries;
  int deployed = 0;      ///< box, from 1
  std::string stopped;   ///< why it stopped
  double utility = 0.0;  ///< mu* of the deployed output minus the costs
};

struct ExplainedPeriod {
  int period = 0;      ///< t, from 1
  std::string prompt;  ///< its name and the beginning of its text, in a table of outcomes
  std::vector<float> psi;
  std::optional<double> reward_shift;  ///< theta_*' Q x_t, where it is that of all boxes
  std::vector<ExplainedBox> boxes;
  ExplainedWalk own, oracle;
  double reward = 0.0;         ///< what is told of the deployed output
  double regret = 0.0;         ///< of the period
  double regret_so_far = 0.0;  ///< periods 1 .. t
};

struct Explanation {
  std::string lane;
  std::string score_name;       ///< what the scores are; empty if the lane ranks by none
  std::string prediction_name;  ///< what is learned of them, such as rho'psi; empty if nothing, or a policy's own code
  bool linked = false;          ///< whether a score is tanh(prediction + bonus) and not the sum itself
  bool knows_reward = false;
  std::vector<std::string> models;  ///< names of the boxes, in a table of outcomes; else empty
  std::vector<ExplainedPeriod> periods;
};

/// Periods `first` to `last`, 1-based. Runs the lane alone with the study's engine on the CPU. Throws Error (usage) if
/// a period is not there, Error (internal) if the lane fails before.
Explanation explain(const FoundLane& found, int first, int last);

std::string explanation_text(const Explanation& explanation);
nlohmann::json explanation_json(const Explanation& explanation);

}  // namespace pandora
