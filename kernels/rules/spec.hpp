// Policies as data. A lane is one policy with one hyperparameter in one replication and one T_0; what it does in
// a period follows from the rules below, so that thousands of lanes of different policies walk through one
// functor (kernels/rules/period.hpp) on any backend.
#pragma once

#include <cstdint>

#include "kernels/rules/bonus.hpp"
#include "kernels/rules/pacing.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// In which order boxes are queried.
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
  hindsight        ///< hindsight_score(): what nobody can know
};

/// What `explain` calls the score; empty if there is none.
constexpr const char* score_name(Score score) {
  switch (score) {  // without a default: a score that is forgotten here does not compile
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
  last_reaches_threshold,    ///< FrugalGPT: mu of the j-th response >= LaneSpec::threshold[j]
  after_first,
  never
};

/// Why a lane under this rule stops before its order is exhausted, as a pattern that why_stopped() fills in: {best} of
/// {best_box}, {last} of {last_box} (the response that came last), {left} of {left_box} (the largest score of the boxes
/// left) and {threshold}. A box is a name such as "box 2".
constexpr const char* stop_pattern(Stop stop) {
  switch (stop) {  // without a default: a rule that is forgotten here does not compile
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

/// Which samples the estimates use.
enum class Learning : std::uint8_t {
  none,
  calibration,  ///< the T_0 calibration periods only
  online        ///< calibration and every online period
};

/// Which loss rho_hat minimises; it brings its link.
enum class Loss : std::uint8_t {
  reservation,      ///< (eq:known-theta--loss), with Lambda = tanh
  linear_quadratic  ///< c z + (mu - z)_+^2 / 2, the loss of Atsidakou et al. (2024): the same with the identity as link
};

/// How the boxes' rho_hat are estimated.
enum class Fit : std::uint8_t {
  separate,  ///< each from its own samples, with the ridges eta_1 and eta_slopes, (eq:known-theta-rho-estimator),
             ///< (eq:hat:rho:at)
  shrunk     ///< together, slopes shrunk towards a common one (docs/beyond.md); the width is that of C_aa
};

/// Which ridges a shrunk fit learns from the data.
enum class Shrinkage : std::uint8_t {
  two_level,  ///< that of the boxes' mean slope and that of the deviations from it
  one_level,  ///< one for all slopes
  fixed       ///< none
};

/// Of Score::hindsight: above every reward for the first box with the greatest mu* - c of those that are there in the
/// period, below for others.
PANDORA_HD inline double hindsight_score(int box, int boxes, const double* mu, const double* cost,
                                         unsigned there = kAllBoxes) {
  int best = -1;
  for (int a = 0; a < boxes; ++a)
    if (holds(there, a) && (best < 0 || mu[a] - cost[a] > mu[best] - cost[best])) best = a;
  return box == best ? 2.0 : -1.0;
}

/// The score of a box that must be opened (LaneSpec::forced): above every other.
inline constexpr double kForcedScore = 1e9;

struct LaneSpec {
  Order order = Order::by_score;
  Score score = Score::none;
  Stop stop = Stop::best_reaches_scores_left;
  RewardModel reward = RewardModel::known;
  Learning learning = Learning::none;
  double c_rho = 0.0;                ///< width of the index bonus, in place of B_at of (eq:index:error:theta:known),
                                     ///< (eq:index:error:unknown:theta)
  double c_theta = 0.0;              ///< width of the reward bonus, in place of beta_t of (eq:beta:t-1)
  double c_b = 0.0;                  ///< width of LinUCB's bonus
  int T0 = 0;                        ///< calibration periods
  int length = 0;                    ///< boxes in `list`
  int list[kMaxBoxes] = {};          ///< the cascade of Order::listed
  double threshold[kMaxBoxes] = {};  ///< tau_j of Stop::last_reaches_threshold, j < length - 1
  BonusRule bonus;                   ///< how the width's factor goes with time
  bool thompson = false;             ///< the factor is multiplied by a standard normal draw, common to all lanes
  double epsilon = 0.0;              ///< probability of a period with a random order, and of one that opens every box
  bool context = true;               ///< false: what it estimates from is not psi(x) but (1, 0, ..., 0)
  int forced = 0;                    ///< a box with fewer samples has the score kForcedScore
  Loss loss = Loss::reservation;
  Fit fit = Fit::separate;
  Shrinkage shrinkage = Shrinkage::two_level;
  double ridge_mean = 1000.0;  ///< Fit::shrunk: lambda_m, the mean slope's ridge; where it is learned, its start
  double ridge_own = 1000.0;   ///< lambda_d, that of a box's deviation
  Pacing pacing = {};          ///< the study's budget
  /// A refit of Fit::shrunk ends with a step whose squared decrement g' C g was at most joint_tolerance: at 1 the step
  /// moved all estimates together by one standard deviation of theirs. After joint_steps steps it ends in any case, and
  /// is counted. RefitPlan (shrinkage.hpp) has what holds of a refit of samples that are new.
  int joint_steps = 50;
  double joint_tolerance = 1.0;

  PANDORA_HD bool learns_index() const { return score == Score::learned_index; }
  PANDORA_HD bool learns_payoff() const { return score == Score::learned_payoff; }
  PANDORA_HD bool learns_scores() const { return learns_index() || learns_payoff(); }
  PANDORA_HD bool learns_reward() const { return reward == RewardModel::learned; }
  PANDORA_HD bool online() const { return learning == Learning::online; }
  /// the bonus that multiplies ||psi||_{V^-1}; 0 means that no design matrix is kept
  PANDORA_HD double width_bonus() const { return learns_payoff() ? c_b : c_rho; }
  PANDORA_HD bool has_bonus() const { return !(width_bonus() <= 0.0); }  // also with NaN, which must show
  /// Whether scores are lowered by a multiplier. The benchmark's own keep to the budget by themselves.
  PANDORA_HD bool paces() const {
    return pacing.of != Pacing::Of::nothing && learns_index() && order == Order::by_score &&
           stop == Stop::best_reaches_scores_left;
  }
  /// whether the bonus is a factor on a width
  PANDORA_HD bool has_width_bonus() const { return has_bonus() && bonus.kind != Bonus::count; }
  PANDORA_HD bool fits_jointly() const { return learns_index() && fit == Fit::shrunk; }
  /// whether the paper's B_at needs sum_s ||phi_s||^2_{Phi^-1}
  PANDORA_HD bool sums_reward_widths() const { return has_bonus() && bonus.kind == Bonus::theory && learns_reward(); }
};

}  // namespace pandora
