// Policies as data. A lane is one policy with one hyperparameter in one replication and one T_0. The rules below say
// what it does in a period, so that thousands of lanes of different policies run through the same code
// (kernels/rules/period.hpp) on any backend.
#pragma once

#include <cstdint>

#include "kernels/rules/actions.hpp"
#include "kernels/rules/bonus.hpp"
#include "kernels/rules/pacing.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// The order in which boxes are queried.
enum class Order : std::uint8_t {
  by_score,  ///< descending score, ties to the lowest box
  listed,    ///< LaneSpec::list
  random     ///< a fresh uniform permutation each period
};

/// The number that a box is given before it is opened.
enum class Score : std::uint8_t {
  none,
  oracle_index,    ///< sigma_a^*(x), (eq:oracle-weitzman-index)
  learned_index,   ///< Lambda(rho_hat' psi + c_rho ||psi||_{V^-1}), (eq:tilde:sigma:theta:known), (eq:indices:tilde)
  learned_payoff,  ///< eta_hat' psi + c_b ||psi||_{A^-1}, LinUCB
  hindsight        ///< hindsight_score(): uses values that no policy can know
};

/// The score's name in the output of `explain`; empty if there is none.
constexpr const char* score_name(Score score) {
  switch (score) {  // without a default, so that the compiler warns of a score that is missing here
    case Score::none:
      return "";
    case Score::oracle_index:
      return "sigma*";
    case Score::learned_index:
      return "index";
    case Score::learned_payoff:
      return "payoff";
    case Score::hindsight:
      return "hindsight";
  }
  return "";
}

/// When querying stops (it always stops when the order is exhausted).
enum class Stop : std::uint8_t {
  best_reaches_scores_left,  ///< Weitzman: max mu over the opened boxes >= largest score of those left
  last_reaches_threshold,    ///< FrugalGPT: mu of the (j+1)-th opened box >= LaneSpec::threshold[j], j = 0, 1, ...
  after_first,
  never
};

/// Why a lane under this rule stops before its order is exhausted, as a pattern that why_stopped() fills in. It has
/// {best} of {best_box}, {last} of {last_box} (the latest response), {left} of {left_box} (the largest score of the
/// remaining boxes) and {threshold}. A box is a name such as "box 2".
constexpr const char* stop_pattern(Stop stop) {
  switch (stop) {  // without a default, so that the compiler warns of a rule that is missing here
    case Stop::best_reaches_scores_left:
      return "the best response, {best:.4f} of {best_box}, reaches the largest {score} left, {left:.4f} of "
             "{left_box}";
    case Stop::last_reaches_threshold:
      return "the response of {last_box}, {last:.4f}, reaches the threshold {threshold:g}";
    case Stop::after_first:
      return "it queries one box alone";
    case Stop::never:
      return "";
  }
  return "";
}

/// Whether mu* is given or estimated by G(theta_hat' phi + c_theta ||phi||_{Phi^-1}), (eq:mu:tilde).
enum class RewardModel : std::uint8_t { known, learned };

/// The samples from which estimates are made.
enum class Learning : std::uint8_t {
  none,
  calibration,  ///< the T_0 calibration periods only
  online        ///< calibration and every online period
};

/// The loss that rho_hat minimises; it determines the link.
enum class Loss : std::uint8_t {
  reservation,      ///< (eq:known-theta--loss), with Lambda = tanh
  linear_quadratic  ///< c z + (mu - z)_+^2 / 2, the loss of Atsidakou et al. (2024): the same with the identity as link
};

/// How the boxes' rho_hat are estimated.
enum class Fit : std::uint8_t {
  separate,  ///< each from its own samples, with the ridges eta_1 and eta_slopes, (eq:known-theta-rho-estimator),
             ///< (eq:hat:rho:at)
  shrunk     ///< together, slopes shrunk towards a common one (docs/shrinkage.md); the width is ||psi||_{C_aa}, with
             ///< C_aa box a's block of the joint fit's inverse Hessian (kernels/solve/joint_factor.hpp)
};

/// Which ridges a shrunk fit learns from the data.
enum class Shrinkage : std::uint8_t {
  two_level,  ///< the ridge of the boxes' mean slope and that of the deviations from it
  one_level,  ///< one for all slopes
  fixed,      ///< none
  tied        ///< boxes of a group (LaneSpec::tie) have one slope; its ridge is learned
};

/// The number behind Score::hindsight. Among the present boxes, the one with the greatest mu* - c (the first of equals)
/// gets 2, which is above every reward. The others get -1, which is below every reward.
PANDORA_HD inline double hindsight_score(int box, int boxes, const double* mu, const double* cost,
                                         unsigned there = kAllBoxes) {
  int best = -1;
  for (int a = 0; a < boxes; ++a)
    if (holds(there, a) && (best < 0 || mu[a] - cost[a] > mu[best] - cost[best])) best = a;
  return box == best ? 2.0 : -1.0;
}

/// The score of a box that must be opened (LaneSpec::forced), above every other score.
inline constexpr double kForcedScore = 1e9;

struct LaneSpec {
  Order order = Order::by_score;
  Score score = Score::none;
  Stop stop = Stop::best_reaches_scores_left;
  RewardModel reward = RewardModel::known;
  Learning learning = Learning::none;
  // A bonus is a factor times a width, which says how uncertain an estimate is. These are the factors:
  double c_rho = 0.0;                ///< on the index's width ||psi||_{V^-1}, in place of B_at of
                                     ///< (eq:index:error:theta:known), (eq:index:error:unknown:theta)
  double c_theta = 0.0;              ///< on the reward's width ||phi||_{Phi^-1}, in place of beta_t of (eq:beta:t-1)
  double c_b = 0.0;                  ///< on the width ||psi||_{A^-1} of LinUCB's payoff
  int T0 = 0;                        ///< calibration periods
  int length = 0;                    ///< boxes in `list`
  int list[kMaxBoxes] = {};          ///< the cascade of Order::listed
  double threshold[kMaxBoxes] = {};  ///< tau_j of Stop::last_reaches_threshold, j < length - 1
  BonusRule bonus;                   ///< how the width's factor changes with time
  bool thompson = false;             ///< the factor is multiplied by a standard normal draw, common to all lanes
  double epsilon = 0.0;              ///< the probability of a random order in a period, and that of opening every box
  bool context = true;               ///< false: estimates use (1, 0, ..., 0) in place of psi(x)
  int forced = 0;                    ///< a box with fewer samples has the score kForcedScore
  Loss loss = Loss::reservation;
  Fit fit = Fit::separate;
  Shrinkage shrinkage = Shrinkage::two_level;
  std::uint8_t tie[kMaxBoxes] = {};   ///< for Shrinkage::tied: the group of each box, 0, 1, ...
  std::uint8_t tied[kMaxBoxes] = {};  ///< and how many boxes that group has
  double ridge_mean = 1000.0;         ///< Fit::shrunk: lambda_m, the mean slope's ridge; its start if it is learned
  double ridge_own = 1000.0;          ///< lambda_d, that of a box's deviation
  Pacing pacing = {};                 ///< the study's budget
  Actions actions = {};               ///< the study's; with wider ones `list` names arms
  Follow follow = Follow::nothing;
  bool unopened = false;  ///< deploys the first box of its order unopened (Actions::uninspected)
  /// A refit of Fit::shrunk ends with a step whose squared decrement g' C g, with the gradient g and the inverse
  /// Hessian C, was at most joint_tolerance. At 1, the step moves all estimates together by one standard deviation. A
  /// refit that has not reached this after joint_steps steps ends and counts as unsolved (JointState::unsolved). Refits
  /// with mostly new samples follow other limits (RefitPlan, shrinkage.hpp).
  int joint_steps = 50;
  double joint_tolerance = 1.0;

  PANDORA_HD bool learns_index() const { return score == Score::learned_index; }
  PANDORA_HD bool learns_payoff() const { return score == Score::learned_payoff; }
  PANDORA_HD bool learns_scores() const { return learns_index() || learns_payoff(); }
  /// Whether a score is the value of opening the box and deploying its output.
  PANDORA_HD bool values_boxes() const { return learns_payoff() || score == Score::hindsight; }
  PANDORA_HD bool learns_reward() const { return reward == RewardModel::learned; }
  PANDORA_HD bool online() const { return learning == Learning::online; }
  /// the factor on ||psi||_{V^-1}; 0 means that no design matrix is kept
  PANDORA_HD double width_bonus() const { return learns_payoff() ? c_b : c_rho; }
  PANDORA_HD bool has_bonus() const { return !(width_bonus() <= 0.0); }  // true for NaN too, so that it is noticed
  /// Whether the budget's multiplier (pacing.hpp) is subtracted from the scores. Only learned indices under Weitzman's
  /// rule do this; yardsticks keep to the budget by themselves.
  PANDORA_HD bool paces() const {
    return pacing.of != Pacing::Of::nothing && learns_index() && order == Order::by_score &&
           stop == Stop::best_reaches_scores_left;
  }
  /// whether the bonus is a factor on a width
  PANDORA_HD bool has_width_bonus() const { return has_bonus() && bonus.kind != Bonus::count; }
  PANDORA_HD bool fits_jointly() const { return learns_index() && fit == Fit::shrunk; }
  PANDORA_HD bool fits_tied() const { return fits_jointly() && shrinkage == Shrinkage::tied; }
  /// whether the paper's B_at needs sum_s ||phi_s||^2_{Phi^-1}
  PANDORA_HD bool sums_reward_widths() const { return has_bonus() && bonus.kind == Bonus::theory && learns_reward(); }
};

}  // namespace pandora
