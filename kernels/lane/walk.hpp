// A lane's way through a block: it plays and learns period by period, until the block ends or a solve is due.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/base/assert.hpp"
#include "kernels/lane/late.hpp"
#include "kernels/rules/arms.hpp"
#include "kernels/solve/reward_solve.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora::engine {

/// A bit of Progress::due beside the boxes' bits: theta_hat waits for its solve.
inline constexpr int kThetaDue = 1 << kMaxBoxes;
/// All boxes wait for a joint solve.
inline constexpr int kJointDue = 1 << (kMaxBoxes + 1);

/// One object per lane and call. On a device its team is a warp. kMost: the most boxes for which it has room. kArms:
/// whether the lane plays arms (kernels/rules/actions.hpp). An instantiation of its own keeps the paper's walk as short
/// as it is without them.
template <class Real, class Team, int kMost, bool kArms = false>
class Walk {
 public:
  PANDORA_HD Walk(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, BlockRange range)
      : team_(team), problem_(problem), shape_(problem.shape), lane_(lane), range_(range), A_(problem.shape.A) {}

  /// Whether no box of the lane has failed since the last walk. A box's failure becomes the lane's failure.
  PANDORA_HD bool boxes_stand() {
    for (int a = 0; a < A_ && lane_.spec.learning != Learning::none; ++a)
      if (const BoxProgress& box = *lane_.box[a].progress; box.failure != Failure::none) {
        fail(box.failure, box.failed_period);
        return false;
      }
    return true;
  }

  /// Goes on from where the lane stands. Returns true if it stopped because a solve is due (progress->due).
  PANDORA_HD bool run() {
    while (lane_.progress->next < range_.B) {
      const int j = lane_.progress->next;
      const int due = step(j);
      if (due == kFailed) return false;
      team_.sync();
      if (team_.rank() == 0) {
        lane_.progress->next = j + 1;
        lane_.progress->due = due;
      }
      team_.sync();
      if (due != 0) return true;
    }
    if constexpr (kArms) form_updates();
    return false;
  }

  /// Takes the samples of the calibration periods or of x_0 and solves theta_hat. StartBox solves the boxes later.
  PANDORA_HD void calibrate() {
    const LaneSpec& spec = lane_.spec;
    if (spec.learning == Learning::none) return;
    if (spec.T0 == 0 && !spec.learns_payoff())
      for (int a = 0; a < A_; ++a)
        if (holds(lane_.tape.there_in(0), a)) add_sample(a, 0);
    for (int k = 0; k < spec.T0; ++k) {
      const int row = lane_.tape.calibration_row(k), a = nth_box(lane_.tape.there_in(0), A_, k);
      add_sample(a, row);
      if (spec.learns_reward()) observe(a, row);
    }
    if (lane_.progress->reward_samples > 0) solve_reward(0);
  }

  struct Nothing {};
  /// The numbers by which the lane decides in a period.
  struct Grounds {
    Stop stop;
    bool finite;                        ///< otherwise the lane fails
    double score[kMost], width[kMost];  ///< one of each for every box
    double response[kMost];             ///< the estimated value of each output if it is opened, mu* for the others
    std::conditional_t<kArms, ArmPeriod, Nothing> arms;
  };

  /// The decisions in the block's period j. `image` is scratch for an estimate of mu*.
  PANDORA_HD PANDORA_INLINE PeriodOutcome decide(int j, double* image, Grounds& by) const {
    const LaneSpec& spec = lane_.spec;
    const int period = range_.first_period + j, row = lane_.tape.online_row(period);
    by.finite = score_boxes(j, period, row, by.score, by.width);
    if (!by.finite) return {};
    int permutation[kMost];
    const PeriodRules rules(spec, lane_.tape.exploration, static_cast<std::uint32_t>(period));
    by.stop = rules.stop;
    if (rules.order == Order::random) {
      if constexpr (kArms)
        random_arms(spec.actions, lane_.tape.random_order, static_cast<std::uint32_t>(period), A_, permutation);
      else
        random_permutation<kMost>(lane_.tape.random_order, static_cast<std::uint32_t>(period), A_, permutation);
    }
    const RewardState state = RewardState::over(lane_.reward_memory, shape_.d);
    const double reward_bonus = spec.c_theta * spec.bonus.reward_factor(time(period));
    const auto reward_in = [&](int of_row, int a) {
      const double value = !spec.learns_reward() ? lane_.tape.mu[at(of_row, a)]
                                                 : state.optimistic(team_, phi(of_row, a), reward_bonus, image);
      by.finite = by.finite && is_finite(value);
      const double mu = spec.learns_reward() ? logistic(value) : value;
      if (records()) lane_.rewards[cell(period, a)] = mu;
      return mu;
    };
    if constexpr (kArms) {
      return decide_among_arms(rules, period, row, permutation, by, reward_in);
    } else {
      for (int a = 0; a < A_; ++a) by.response[a] = lane_.tape.mu[at(row, a)];
      const auto reward_of = [&](int a) { return by.response[a] = reward_in(row, a); };
      return lane_.decisions != nullptr
                 ? lane_.decisions[period]
                 : walk_period(spec, rules, A_, by.score, permutation, reward_of, lane_.tape.there_in(row));
    }
  }

  /// Whether the period's utility under these decisions is finite.
  PANDORA_HD bool gains(const PeriodOutcome& outcome, const Grounds& by, int row) const {
    if constexpr (kArms) {
      return is_finite(by.arms.values.mu[outcome.deployed] - spent_on(outcome, by.arms.values.cost));
    } else {
      PANDORA_ASSERT(outcome.queried >= 1 && outcome.queried <= A_ && outcome.deployed >= 0 && outcome.deployed < A_);
      return is_finite(lane_.tape.mu[at(row, outcome.deployed)] - spent_on(outcome, lane_.tape.cost + at(row, 0)));
    }
  }

 private:
  static constexpr int kFailed = -1;  // not a set of boxes

  // One period; returns what waits for a solve, or kFailed.
  PANDORA_HD int step(int j) {
    const LaneSpec& spec = lane_.spec;
    const int period = range_.first_period + j, row = lane_.tape.online_row(period);
    Grounds by;
    const PeriodOutcome outcome = decide(j, spec.learns_reward() ? image() : nullptr, by);  // the same in every member
    if (!by.finite || !gains(outcome, by, row)) return fail(Failure::not_finite, period + 1);
    if (team_.rank() == 0) {
      if (lane_.outcomes != nullptr) lane_.outcomes[period] = outcome;
      if (records()) record(period, by.score, by.width);
      if constexpr (kArms)
        count_arms(spec, by.stop, A_, outcome, lane_.tape.optimal != nullptr ? lane_.tape.optimal + period : nullptr,
                   by.arms, *lane_.tally);
      else
        count(outcome, by, row);
    }
    if (spec.paces()) pace(outcome, row);
    if (!spec.online()) return 0;
    if (lane_.chosen != nullptr) choose(period, outcome.deployed);
    if (spec.learns_payoff()) {
      for_told(period, row, outcome.deployed,
               [&](int a, int of) { lane_.learns_late() ? learn_late_payoff(a, of) : learn_payoff(j, a, of); });
      return 0;
    }
    return learn(j, outcome, period, row);
  }

  PANDORA_HD void count(const PeriodOutcome& outcome, const Grounds& by, int row) {
    const auto opens = [&](const int* order) {
      return opened_by_lane(lane_.spec, by.stop, outcome.ranked, by.score, by.response, order,
                            lane_.tape.there_in(row));
    };
    lane_.tally->template split_regret<kMost>(outcome, A_, lane_.tape.mu + at(row, 0), lane_.tape.cost + at(row, 0),
                                              lane_.tape.sigma + at(row, 0), opens, lane_.tape.there_in(row));
    lane_.tally->add(outcome, lane_.tape.mu + at(row, 0), lane_.tape.cost + at(row, 0), lane_.tape.reward + at(row, 0));
  }

  // Forms the u_q of the designs. AdvanceBlock can form them in place of images only where each period has one update.
  PANDORA_HD void form_updates() const {
    const LaneSpec& spec = lane_.spec;
    if (spec.actions.openings == 1 || !spec.online() || !lane_.needs.widths || spec.learns_payoff()) return;
    for (int a = 0; a < A_; ++a) materialise_gram(team_, shape_, lane_.box[a].design, [](int, const auto&, int) {});
  }

  template <class RewardIn>
  PANDORA_HD PeriodOutcome decide_among_arms(const PeriodRules& rules, int period, int row, const int* permutation,
                                             Grounds& by, RewardIn&& reward_in) const {
    const LaneSpec& spec = lane_.spec;
    by.arms.there = spec.actions.arms_there(lane_.tape.there_in(row), A_);
    by.arms.values = arm_values(spec.actions, A_, lane_.tape.mu, lane_.tape.cost, lane_.tape.sigma, lane_.tape.reward,
                                [&](int opening) { return at(row + opening * lane_.tape.online_rows, 0); });
    score_arms(spec, A_, by.score, by.arms);
    const PeriodOutcome* const followed = lane_.decisions != nullptr       ? lane_.decisions
                                          : spec.follow == Follow::nothing ? nullptr
                                          : spec.follow == Follow::optimal ? lane_.tape.optimal
                                                                           : lane_.tape.committed;
    return decide_arms(spec, rules, A_, permutation, followed != nullptr ? followed + period : nullptr, by.arms,
                       [&](int arm) { return reward_in(row_of(arm, row), box_of(arm)); });
  }

  // The score of every box under spec.score, and the widths. Returns false if one is not finite.
  PANDORA_HD bool score_boxes(int j, int period, int row, double* score, double* width) const {
    const LaneSpec& spec = lane_.spec;
    constexpr int kStrip = Team::kVectors ? 4 : 1;  // how many links are computed side by side
    const int padded = (A_ + kStrip - 1) / kStrip * kStrip;
    bool finite = true;
    for (int a = 0; a < padded; ++a) score[a] = width[a] = 0.0;
    for (int a = 0; a < A_; ++a) {
      if (spec.score == Score::oracle_index) score[a] = lane_.tape.sigma[at(row, a)];
      if (spec.score == Score::hindsight)
        score[a] =
            hindsight_score(a, A_, lane_.tape.mu + at(row, 0), lane_.tape.cost + at(row, 0), lane_.tape.there_in(row));
      if (spec.learns_index() || spec.learns_payoff()) {
        const BoxView<Real>& box = lane_.box[a];
        Real z = box.prediction[j];
        if (records()) lane_.predictions[cell(period, a)] = static_cast<double>(z);
        if (spec.has_width_bonus()) {
          const Real square = (spec.fits_jointly() ? box.curvature : box.design).diagonal[j],
                     w = ::sqrt(square < Real(0) ? Real(0) : square);
          width[a] = static_cast<double>(w);
        }
        if (spec.has_bonus())
          z += static_cast<Real>(spec.width_bonus() * bonus_factor(a, period)) *
               static_cast<Real>(spec.has_width_bonus() ? width[a] : 1.0);
        score[a] = static_cast<double>(z);
        if (records()) lane_.bonuses[cell(period, a)] = score[a] - static_cast<double>(box.prediction[j]);
      }
      finite = finite && is_finite(score[a]);  // the link would hide a number that is not finite
    }
    // In double: in single precision Lambda would be exactly 1 from z = 9 on, and wide bonuses would tie.
    for (int first = 0; first < A_ && spec.learns_index() && spec.loss == Loss::reservation; first += kStrip)
      PANDORA_SIMD
    for (int a = first; a < first + kStrip; ++a) score[a] = index_link(score[a]);
    for (int a = 0; a < A_ && spec.paces(); ++a) score[a] -= lane_.progress->multiplier;
    for (int a = 0; a < A_ && spec.forced > 0; ++a)
      if (lane_.box[a].progress->counted() < spec.forced) score[a] = kForcedScore;
    return finite;
  }

  PANDORA_HD double bonus_factor(int a, int period) const {
    const LaneSpec& spec = lane_.spec;
    if (spec.bonus.kind == Bonus::constant && !spec.thompson) return 1.0;
    const BoxProgress& box = *lane_.box[a].progress;
    const double factor = spec.bonus.factor(time(period), box.counted(), box.reward_widths);
    return spec.thompson ? factor * box_normal(lane_.tape.exploration, static_cast<std::uint32_t>(period), a) : factor;
  }
  // The t of the bonuses: all periods so far, with this one and those of the calibration.
  PANDORA_HD int time(int period) const { return lane_.spec.T0 + period + 1; }

  // The number of the period; 0 in the calibration.
  PANDORA_HD int now() const { return range_.B == 0 ? 0 : range_.first_period + lane_.progress->next + 1; }

  // Whether this member records the numbers behind the lane's decisions.
  PANDORA_HD bool records() const { return lane_.scores != nullptr && team_.rank() == 0; }
  PANDORA_HD std::size_t cell(int period, int a) const { return static_cast<std::size_t>(period) * A_ + a; }

  PANDORA_HD void record(int period, const double* score, const double* width) const {
    for (int a = 0; a < A_; ++a) {
      lane_.scores[cell(period, a)] = score[a];
      lane_.widths[cell(period, a)] = width[a];
    }
  }

  // Learns from the period's outputs. Returns the solves now due: bit a of box a, kThetaDue, kJointDue; or kFailed.
  PANDORA_HD int learn(int j, const PeriodOutcome& outcome, int period, int row) {
    int due = 0;
    for (int k = 0; k < outcome.queried; ++k) {
      if (is_outside(outcome.order[k])) continue;
      const int a = box_of(outcome.order[k]), of_row = row_of(outcome.order[k], row);
      const BoxView<Real>& box = lane_.box[a];
      add_sample(a, of_row);
      const bool solve =
          lane_.joint == nullptr && problem_.refit.due(box.progress->samples, box.progress->samples_at_solve);
      due |= solve ? 1 << a : 0;
      if (lane_.needs.design) update_gram(team_, shape_, box.design, range_.B, j, Real(1));
      if (lane_.needs.steps)
        track_sample<kArms>(team_, shape_, lane_, a, j, range_.B, static_cast<Real>(lane_.tape.cost[at(of_row, a)]),
                            estimated_reward(a, of_row), phi(of_row, a), solve);
    }
    const int theta = lane_.spec.learns_reward() ? learn_reward(outcome.deployed, period, row) : 0;
    if (theta == kFailed) return kFailed;
    if (lane_.joint != nullptr) {
      const bool joint = lane_.progress->joint_due != 0 || problem_.refit.due_in_period(period + 1) ||
                         problem_.refit.jointly_due(lane_.joint->samples, lane_.joint->samples_at_solve);
      return (joint ? kJointDue : 0) | theta;
    }
    if (problem_.refit.due_in_period(period + 1)) {
      due = 0;
      for (int a = 0; a < A_; ++a)
        if (const BoxProgress& box = *lane_.box[a].progress;
            box.samples > box.samples_at_solve || lane_.spec.learns_reward())
          due |= 1 << a;
    }
    return due | theta;
  }

  // mu*, or its plug-in under the current theta_hat (eq:plugin:loss).
  PANDORA_HD Real estimated_reward(int a, int row) const {
    return static_cast<Real>(lane_.spec.learns_reward()
                                 ? logistic(RewardState::over(lane_.reward_memory, shape_.d).linear(team_, phi(row, a)))
                                 : lane_.tape.mu[at(row, a)]);
  }

  PANDORA_HD void pace(const PeriodOutcome& outcome, int row) {
    team_.sync();  // members may still be scoring
    if (team_.rank() == 0)
      lane_.progress->multiplier = lane_.spec.pacing.next(lane_.progress->multiplier, outcome.queried,
                                                          spent_on(outcome, lane_.tape.cost + at(row, 0)));
    team_.sync();
  }

  PANDORA_HD void choose(int period, int deployed) {
    if (team_.rank() == 0) lane_.chosen[period] = static_cast<unsigned char>(deployed);
    team_.sync();
  }

  // Calls take(box, row) for the deployed outputs whose rewards are told at the end of a period.
  template <class Take>
  PANDORA_HD void for_told(int period, int row, int deployed, Take&& take) const {
    if (lane_.chosen == nullptr) return take_told(deployed, row, take);
    for (int k = lane_.tape.told_first[period]; k < lane_.tape.told_first[period + 1]; ++k) {
      const int told = lane_.tape.told_period[k];
      take_told(static_cast<int>(lane_.chosen[told]), lane_.tape.online_row(told), take);
    }
  }
  // The outside option has no output from which a lane could learn.
  template <class Take>
  PANDORA_HD void take_told(int deployed, int row, Take&& take) const {
    if (!is_outside(deployed)) take(box_of(deployed), row_of(deployed, row));
  }

  // The box and the row of what was opened in a period whose own row is `row`.
  PANDORA_HD bool is_outside(int arm) const {
    if constexpr (kArms)
      return arm == lane_.spec.actions.outside_arm(A_);
    else
      return false;
  }
  PANDORA_HD int box_of(int arm) const {
    if constexpr (kArms)
      return lane_.spec.actions.box_of(arm);
    else
      return arm;
  }
  PANDORA_HD int row_of(int arm, int row) const {
    if constexpr (kArms)
      return row + lane_.spec.actions.opening_of(arm) * lane_.tape.online_rows;
    else
      return row;
  }

  // Adds the deployed samples that are told to theta_hat. Returns 0, kThetaDue if a solve becomes due, or kFailed.
  PANDORA_HD int learn_reward(int deployed, int period, int row) {
    if (lane_.chosen != nullptr && lane_.tape.told_first[period] == lane_.tape.told_first[period + 1]) return 0;
    const double* const theta = lane_.reward_memory;
    double* const before = image() + RewardState::stride(shape_.d);
    team_.sync();
    for (int i = team_.rank(); i < shape_.d; i += team_.size()) before[i] = theta[i];
    for_told(period, row, deployed, [&](int a, int told_row) { observe(a, told_row); });
    if (problem_.refit_reward.due(lane_.progress->reward_samples, lane_.progress->reward_samples_at_solve)) {
      if constexpr (!Team::kVectors) return kThetaDue;  // a block of threads does this: SolveTheta
      if (!solve_reward(period + 1)) return kFailed;
    } else if (!problem_.refit_reward.steps) {
      return 0;  // theta_hat has not moved
    }
    follow_theta(team_, shape_, lane_, A_, range_.B);
    return 0;
  }

  PANDORA_HD void learn_payoff(int j, int a, int row) {
    const BoxView<Real>& box = lane_.box[a];
    const double error = static_cast<double>(box.prediction[j]) - payoff_of(a, row);
    const Real s = update_gram(team_, shape_, box.design, range_.B, j, Real(1));
    take_step(team_, box, box.design, j + 1, range_.B, static_cast<Real>(error / static_cast<double>(s)));
    add_sample(a, row);
  }

  PANDORA_HD double payoff_of(int a, int row) const {
    return lane_.tape.told[at(row, a)] - (kArms && lane_.spec.unopened ? 0.0 : lane_.tape.cost[at(row, a)]);
  }

  PANDORA_HD void learn_late_payoff(int a, int row) {
    const LateSample<Real> sample{lane_.tape.psi_of(row, shape_.stride),
                                  row - lane_.tape.online_row(range_.first_period), payoff_of(a, row)};
    learn_late_sample(team_, shape_, lane_.box[a], BlockContexts<Real>(lane_.tape, shape_, range_), sample);
    add_sample(a, row);
  }

  PANDORA_HD void add_sample(int a, int row) {
    const BoxView<Real>& box = lane_.box[a];
    team_.sync();
    if (team_.rank() == 0) {
      PANDORA_ASSERT(box.progress->samples < shape_.capacity);
      box.add(row, now());
      if (lane_.joint != nullptr) ++lane_.joint->samples;
    }
    if (lane_.spec.sums_reward_widths()) {
      const double width = RewardState::over(lane_.reward_memory, shape_.d).width(team_, phi(row, a), image());
      if (team_.rank() == 0) box.progress->reward_widths += width * width;
    }
    team_.sync();
  }

  PANDORA_HD void observe(int a, int row) {
    team_.sync();
    if (team_.rank() == 0) {
      const int sample = lane_.progress->reward_samples++;
      PANDORA_ASSERT(sample < shape_.capacity);
      lane_.deployed[sample] = static_cast<int>(at(row, a));
      if (lane_.reward_weight != nullptr) lane_.reward_weight[sample] = 1.0f;
      if (lane_.reward_learned != nullptr) lane_.reward_learned[sample] = now();
      if constexpr (Team::kVectors)
        RewardTable::over(lane_.reward_table, shape_.d, shape_.capacity)
            .add(sample, phi(row, a), lane_.tape.told[at(row, a)]);
    }
    RewardState state = RewardState::over(lane_.reward_memory, shape_.d);
    state.widen(team_, phi(row, a), image());
    if (problem_.refit_reward.steps)
      state.step(team_, phi(row, a), static_cast<double>(lane_.tape.told[at(row, a)]), image());
    team_.sync();
  }

  PANDORA_HD bool solve_reward(int period) {
    if (RewardSolve<Real, Team>(team_, problem_, lane_).solve()) return true;
    fail(Failure::reward_fit, period);
    return false;
  }

  PANDORA_HD int fail(Failure what, int period) {
    team_.sync();  // members may still be looking whether the lane stands
    if (team_.rank() == 0) lane_.tally->fail(what, period);
    team_.sync();
    return kFailed;
  }

  // Scratch for a step of theta_hat; every lane that learns rewards has it.
  PANDORA_HD double* image() const { return step_scratch(lane_.reward_memory, shape_.d); }
  PANDORA_HD std::size_t at(int row, int a) const { return static_cast<std::size_t>(row) * A_ + a; }
  PANDORA_HD const float* phi(int row, int a) const { return lane_.tape.phi + at(row, a) * shape_.d; }

  const Team& team_;
  const Problem<Real>& problem_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  const BlockRange range_;
  const int A_;
};

}  // namespace pandora::engine
