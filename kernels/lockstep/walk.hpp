// A lane's way through a block by a team (a warp): the periods in order, until the block ends or a box waits for a
// solve. host/block_lane.cpp in team form; see there and docs/performance.md for the algebra.
#pragma once

#include <cmath>

#include "kernels/index_loss.hpp"
#include "kernels/lockstep/gram.hpp"
#include "kernels/lockstep/reward.hpp"
#include "kernels/walk.hpp"

namespace pandora::lockstep {

/// What the periods of a block share.
struct BlockRange {
  int first_period;
  int B;
};

/// p_j = psi_j' rho of one box for the block's contexts.
template <class Real, class Team>
PANDORA_HD void predict(const Team& team, const Shape& shape, const Real* psi, int B, const Real* rho, Real* out) {
  for (int j = team.rank(); j < B; j += team.size()) {
    Real sum = 0;
    for (int k = 0; k < shape.m; ++k) sum = fused(psi[j * shape.stride + k], rho[k], sum);
    out[j] = sum;
  }
  team.sync();
}

template <class Real, class Team>
PANDORA_HD void clear_pending(const Team& team, const Shape& shape, const BoxView<Real>& box) {
  for (int k = team.rank(); k < shape.d; k += team.size()) box.theta_moved[k] = Real(0);
  if (team.rank() == 0) box.pending() = 0;
  team.sync();
}

/// After form_gram of Hinv: no steps are pending, and N = Psi' Q.
template <class Real, class Team>
PANDORA_HD void start_coupling(const Team& team, const Shape& shape, const LaneView<Real>& lane,
                               const BoxView<Real>& box, const Real* psi, int B) {
  clear_pending(team, shape, box);
  for (int k = 0; k < shape.d && lane.tracks_theta; ++k)
    predict(team, shape, psi, B, box.response + k * shape.stride, box.coupling + k * shape.B);
}

/// Brings rho (and Q) up to date with the steps taken since the block's start or the last flush.
template <class Real, class Team>
PANDORA_HD void flush(const Team& team, const Shape& shape, const LaneView<Real>& lane, const BoxView<Real>& box) {
  const int d = shape.d, stride = shape.stride;
  if (lane.tracks_theta)
    for (int i = team.rank(); i < stride; i += team.size())
      for (int k = 0; k < d; ++k) box.rho[i] = fused(box.response[k * stride + i], box.theta_moved[k], box.rho[i]);
  const GramView<Real>& g = lane.tracks ? box.curvature : box.design;
  const int before = g.count[kMaterialised];
  materialise_gram(team, shape, g, [&](int update, Real v, int i) {
    const int at = update - before;
    Real weight = -box.pending_scale[at];
    if (lane.tracks_theta)
      for (int k = 0; k < d; ++k) {
        const Real rank = box.pending_rank[at * d + k];
        weight += rank * (box.theta_moved[k] - box.pending_moved[at * d + k]);
        box.response[k * stride + i] = fused(v, rank, box.response[k * stride + i]);
      }
    box.rho[i] = fused(v, weight, box.rho[i]);
  });
  clear_pending(team, shape, box);
}

template <class Real, class Team>
class Walk {
 public:
  PANDORA_HD Walk(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, BlockRange range)
      : team_(team), problem_(problem), shape_(problem.shape), lane_(lane), range_(range), A_(problem.shape.A) {}

  /// Whether no box of the lane has failed since the last walk; else that is the lane's failure.
  PANDORA_HD bool boxes_stand() {
    for (int a = 0; a < A_ && lane_.spec.learning != Learning::none; ++a)
      if (const BoxView<Real>& box = lane_.box[a]; box.failure() != Failure::none) {
        fail(box.failure(), box.failed_period());
        return false;
      }
    return true;
  }

  /// Goes on from where the lane stands; true if it stopped because boxes wait for solves (progress->queried_due).
  PANDORA_HD bool run() {
    while (lane_.progress->next < range_.B) {
      const int j = lane_.progress->next;
      const int due = step(j);
      if (due == kFailed) return false;
      team_.sync();
      if (team_.rank() == 0) {
        lane_.progress->next = j + 1;
        lane_.progress->queried_due = due;
      }
      team_.sync();
      if (due != 0) return true;
    }
    return false;
  }

  /// The calibration periods or x_0: samples only, and theta_hat; the boxes' solves follow.
  PANDORA_HD void calibrate() {
    const LaneSpec& spec = lane_.spec;
    if (spec.learning == Learning::none) return;
    if (spec.T0 == 0 && !spec.learns_payoff())
      for (int a = 0; a < A_; ++a) add_sample(a, 0);
    for (int k = 0; k < spec.T0; ++k) {
      const int row = lane_.tape.calibration_row(k), a = k % A_;
      add_sample(a, row);
      if (spec.learns_reward()) observe(a, row);
    }
    if (lane_.progress->reward_samples > 0) solve_reward(0);
  }

 private:
  static constexpr int kFailed = -1;  // not a set of boxes

  // One period; returns the boxes that wait for a solve, or kFailed.
  PANDORA_HD int step(int j) {
    const LaneSpec& spec = lane_.spec;
    double score[kMaxBoxes], width[kMaxBoxes];
    int permutation[kMaxBoxes];
    bool finite = true;  // the same in every member
    const int period = range_.first_period + j, row = lane_.tape.online_row(period);
    for (int a = 0; a < A_; ++a) {
      score[a] = width[a] = 0.0;
      const BoxView<Real>& box = lane_.box[a];
      if (spec.score == Score::oracle_index) {
        score[a] = lane_.tape.sigma[at(row, a)];
        finite = finite && is_finite(score[a]);
      }
      if (!spec.learns_index() && !spec.learns_payoff()) continue;
      Real z = box.prediction[j];
      if (spec.has_width_bonus()) {
        const Real square = box.design.diagonal[j], w = ::sqrt(square < Real(0) ? Real(0) : square);
        width[a] = static_cast<double>(w);
        z += static_cast<Real>(spec.width_bonus()) * w;
      }
      finite = finite && is_finite(z);  // the link would hide it
      score[a] = spec.learns_payoff() ? static_cast<double>(z) : index_link(static_cast<double>(z));
    }
    if (!finite) return fail(Failure::not_finite, period + 1);
    if (spec.order == Order::random)
      random_permutation(lane_.tape.random_order, static_cast<std::uint32_t>(period), A_, permutation);
    const RewardState state = RewardState::over(lane_.reward_memory, shape_.d);
    const auto reward_of = [&](int a) {
      const double value = !spec.learns_reward()
                               ? lane_.tape.mu[at(row, a)]
                               : team_.broadcast(team_.rank() == 0 ? state.optimistic(phi(row, a), spec.c_theta) : 0.0);
      finite = finite && is_finite(value);
      return spec.learns_reward() ? logistic(value) : value;
    };
    const PeriodOutcome outcome =
        lane_.decisions != nullptr ? lane_.decisions[period] : walk_period(spec, A_, score, permutation, reward_of);
    const double gained = lane_.tape.mu[at(row, outcome.deployed)] - spent_on(outcome, lane_.tape.cost + at(row, 0));
    if (!finite || !is_finite(gained)) return fail(Failure::not_finite, period + 1);
    if (team_.rank() == 0) {
      if (lane_.outcomes != nullptr) record(period, score, width, outcome);
      lane_.tally->add(outcome, lane_.tape.mu + at(row, 0), lane_.tape.cost + at(row, 0),
                       lane_.tape.reward + at(row, 0));
    }
    if (!spec.online()) return 0;
    if (spec.learns_payoff()) {
      learn_payoff(j, outcome.deployed, row);
      return 0;
    }
    return learn(j, outcome, period, row);
  }

  PANDORA_HD void record(int period, const double* score, const double* width, const PeriodOutcome& outcome) const {
    lane_.outcomes[period] = outcome;
    for (int a = 0; a < A_; ++a) {
      lane_.scores[static_cast<std::size_t>(period) * A_ + a] = score[a];
      lane_.widths[static_cast<std::size_t>(period) * A_ + a] = width[a];
    }
  }

  PANDORA_HD int learn(int j, const PeriodOutcome& outcome, int period, int row) {
    int due = 0;
    for (int k = 0; k < outcome.queried; ++k) {
      const int a = outcome.order[k];
      const BoxView<Real>& box = lane_.box[a];
      add_sample(a, row);
      const bool solve = problem_.refit.due(box.n(), box.solved_at());
      due |= solve ? 1 << a : 0;
      if (lane_.keeps_design) update_gram(team_, shape_, box.design, range_.B, j, Real(1));
      if (lane_.tracks) track_sample(j, a, row, solve);
    }
    if (lane_.spec.learns_reward()) {
      Real move[kMaxRewardFeatures];
      const double* theta = lane_.reward_memory;
      double before[kMaxRewardFeatures];
      for (int i = 0; i < shape_.d; ++i) before[i] = theta[i];
      observe(outcome.deployed, row);
      if (lane_.progress->reward_samples >= kRewardRefitGrowth * lane_.progress->reward_solved_at - 1e-9 &&
          !solve_reward(period + 1))
        return kFailed;
      for (int i = 0; i < shape_.d; ++i) move[i] = static_cast<Real>(theta[i] - before[i]);
      if (lane_.tracks) track_theta(move);
    }
    if (problem_.refit.due_in_period(period + 1)) {
      due = 0;
      for (int a = 0; a < A_; ++a)
        if (lane_.box[a].n() > lane_.box[a].solved_at() || lane_.spec.learns_reward()) due |= 1 << a;
    }
    return due;
  }

  PANDORA_HD void learn_payoff(int j, int a, int row) {
    const BoxView<Real>& box = lane_.box[a];
    const double payoff = lane_.tape.reward[at(row, a)] - lane_.tape.cost[at(row, a)];
    const double error = static_cast<double>(box.prediction[j]) - payoff;
    const Real s = update_gram(team_, shape_, box.design, range_.B, j, Real(1));
    move_predictions(box, box.design, j, static_cast<Real>(error / static_cast<double>(s)));
    add_sample(a, row);
  }

  // The Newton step of a new sample, and its part in Hinv and Q; gradient, weight and coupling at the values before it.
  PANDORA_HD void track_sample(int j, int a, int row, bool exact_follows) {
    const BoxView<Real>& box = lane_.box[a];
    const std::size_t sample = at(row, a);
    const Real mu =
        lane_.spec.learns_reward()
            ? static_cast<Real>(logistic(RewardState::over(lane_.reward_memory, shape_.d).linear(phi(row, a))))
            : static_cast<Real>(lane_.tape.mu[sample]);
    const IndexMoment<Real> value = index_moment(box.prediction[j], static_cast<Real>(lane_.tape.cost[sample]), mu);
    const Real s = update_gram(team_, shape_, box.curvature, range_.B, j, value.curvature);
    const int pending = box.pending();
    if (lane_.tracks_theta) {
      const bool active = value.curvature > Real(0);
      const Real slope = mu * (Real(1) - mu);  // G'
      for (int k = 0; k < shape_.d; ++k) {
        Real* const N = box.coupling + k * shape_.B;
        const Real rank = active ? (slope * static_cast<Real>(phi(row, a)[k]) - value.curvature * N[j]) / s : Real(0);
        for (int i = j + 1 + team_.rank(); active && i < range_.B; i += team_.size())
          N[i] = fused(box.curvature.row[i], rank, N[i]);
        if (team_.rank() == 0) {
          box.pending_rank[pending * shape_.d + k] = rank;
          box.pending_moved[pending * shape_.d + k] = box.theta_moved[k];
        }
      }
    }
    move_predictions(box, box.curvature, j, exact_follows ? Real(0) : value.moment / s);
  }

  // p_i -= row_i scale for the periods after j, and the step's entry in the pending list.
  PANDORA_HD void move_predictions(const BoxView<Real>& box, const GramView<Real>& g, int j, Real scale) {
    for (int i = j + 1 + team_.rank(); i < range_.B; i += team_.size())
      box.prediction[i] = fused(-g.row[i], scale, box.prediction[i]);
    team_.sync();
    if (team_.rank() == 0) box.pending_scale[box.pending()++] = scale;
    team_.sync();
  }

  PANDORA_HD void track_theta(const Real* move) {
    for (int a = 0; a < A_; ++a) {
      const BoxView<Real>& box = lane_.box[a];
      for (int i = team_.rank(); i < range_.B; i += team_.size())
        for (int k = 0; k < shape_.d; ++k)
          box.prediction[i] = fused(box.coupling[k * shape_.B + i], move[k], box.prediction[i]);
      for (int k = team_.rank(); k < shape_.d; k += team_.size()) box.theta_moved[k] += move[k];
    }
    team_.sync();
  }

  PANDORA_HD void add_sample(int a, int row) {
    const BoxView<Real>& box = lane_.box[a];
    team_.sync();
    if (team_.rank() == 0) box.rows[box.n()++] = row;
    team_.sync();
  }

  PANDORA_HD void observe(int a, int row) {
    team_.sync();
    if (team_.rank() == 0) {
      lane_.deployed[lane_.progress->reward_samples++] = static_cast<int>(at(row, a));
      RewardState state = RewardState::over(lane_.reward_memory, shape_.d);
      state.observe(phi(row, a), static_cast<double>(lane_.tape.reward[at(row, a)]));
    }
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

  PANDORA_HD std::size_t at(int row, int a) const { return static_cast<std::size_t>(row) * A_ + a; }
  PANDORA_HD const float* phi(int row, int a) const { return lane_.tape.phi + at(row, a) * shape_.d; }

  const Team& team_;
  const Problem<Real>& problem_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  const BlockRange range_;
  const int A_;
};

}  // namespace pandora::lockstep
