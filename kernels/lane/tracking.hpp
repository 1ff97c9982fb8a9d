// Newton steps inside a block. There are two kinds: rho_hat's own (under `tracking`, and LinUCB's), and the moves by
// which rho_hat follows theta_hat. Inside a block a step moves the predictions p_i = psi_i' rho of later periods and N
// = Psi' Q. rho and Q themselves follow at the block's end or before a solve (flush). docs/fast-engine.md has the
// algebra.
#pragma once

#include "kernels/base/assert.hpp"
#include "kernels/lane/gram.hpp"
#include "kernels/rules/index_loss.hpp"
#include "kernels/solve/reward_solve.hpp"
#include "kernels/state/reward_state.hpp"

namespace pandora::engine {

template <class Real, class Team>
PANDORA_HD void clear_pending(const Team& team, const Shape& shape, const BoxView<Real>& box) {
  for (int k = team.rank(); k < shape.d; k += team.size()) box.theta_moved[k] = Real(0);
  if (team.rank() == 0) box.progress->pending = 0;
  team.sync();
}

/// After start_gram of Hinv: no steps are pending, and N = Psi' Q.
template <class Real, class Team>
PANDORA_HD void start_coupling(const Team& team, const Shape& shape, const LaneView<Real>& lane,
                               const BoxView<Real>& box, const BlockContexts<Real>& block) {
  clear_pending(team, shape, box);
  for (int k = 0; k < shape.d && lane.needs.response; ++k)
    predict(team, shape, block, box.response + k * shape.stride, box.coupling + k * shape.width);
}

/// Brings rho (and Q) up to date with the steps taken since the block's start or the last flush: each moves rho by
/// v (r' (theta now - theta before the sample) - e / s) and Q by v r'.
template <class Real, class Team>
PANDORA_HD void flush(const Team& team, const Shape& shape, const LaneView<Real>& lane, const BoxView<Real>& box) {
  using V = typename Team::template Vectors<Real>;
  const int d = shape.d, stride = shape.stride;
  const bool response = lane.needs.response;
  if (response) {
    for_tiles<Real>(team, stride, [&](auto tile, int i) {
      for (int n = 0; n < decltype(tile)::value; ++n, i += V::width) {
        typename V::Vector rho = V::load(box.rho + i);
        for (int k = 0; k < d; ++k)
          rho = V::fused(V::load(box.response + k * stride + i), V::broadcast(box.theta_moved[k]), rho);
        V::store(box.rho + i, rho);
      }
    });
    for (int p = team.rank(); p < box.progress->pending; p += team.size()) {
      Real scale = box.pending_scale[p];
      for (int k = 0; k < d; ++k)
        scale -= box.pending_rank[p * d + k] * (box.theta_moved[k] - box.pending_moved[p * d + k]);
      box.pending_scale[p] = scale;
    }
    team.sync();
  }
  const GramView<Real>& g = lane.needs.steps ? box.curvature : box.design;
  const int before = g.count->materialised;
  materialise_gram(team, shape, g, [&](int update, const auto& v, int i) {
    constexpr int N = static_cast<int>(sizeof v / sizeof v[0]);
    const int p = update - before;
    if (response && g.log[update].f > Real(0))  // else r = 0
      for (int k = 0; k < d; ++k) {
        const typename V::Vector rank = V::broadcast(box.pending_rank[p * d + k]);
        Real* const Q = box.response + k * stride + i;
        PANDORA_UNROLL
        for (int n = 0; n < N; ++n) V::store(Q + n * V::width, V::fused(v[n], rank, V::load(Q + n * V::width)));
      }
    const typename V::Vector scale = V::broadcast(box.pending_scale[p]);
    Real* const rho = box.rho + i;
    PANDORA_UNROLL
    for (int n = 0; n < N; ++n)
      V::store(rho + n * V::width, V::fused_negative(v[n], scale, V::load(rho + n * V::width)));
  });
  clear_pending(team, shape, box);
}

/// out_i += row_i weight for the periods from `first` on. Earlier periods in the same vector move too, but nobody reads
/// them.
template <class Real, class Team>
PANDORA_HD void move_later(const Team& team, Real* out, const Real* row, Real weight, int first, int B) {
  using V = typename Team::template Vectors<Real>;
  for (int i = (first / V::width + team.rank()) * V::width; i < B; i += team.size() * V::width)
    V::store(out + i, V::fused(V::load(row + i), V::broadcast(weight), V::load(out + i)));
}

/// p_i -= row_i scale for the periods from `first` on, and the step's entry in the pending list.
template <class Real, class Team>
PANDORA_HD void take_step(const Team& team, const BoxView<Real>& box, const GramView<Real>& g, int first, int B,
                          Real scale) {
  move_later(team, box.prediction, g.row, -scale, first, B);
  team.sync();
  if (team.rank() == 0) {
    box.pending_scale[box.progress->pending++] = scale;
  }
  team.sync();
}

/// The Newton step for period j's sample with its cost, (plug-in) mu and features phi, and the sample's part in Hinv
/// and Q. Gradient, weight and coupling are taken at the values before the step. If an exact solve follows, rho takes
/// no step. kAgain: whether the box may be opened again in the period.
template <bool kAgain = false, class Real, class Team>
PANDORA_HD void track_sample(const Team& team, const Shape& shape, const LaneView<Real>& lane, int a, int j, int B,
                             Real cost, Real mu, const float* phi, bool exact_follows) {
  const BoxView<Real>& box = lane.box[a];
  const int next = kAgain ? j : j + 1;  // the first period that reads the changed numbers
  IndexMoment<Real> value = index_moment(lane.spec.loss, box.prediction[j], cost, mu);
  if (lane.joint != nullptr) {
    const Real weight = static_cast<Real>(1.0 / lane.joint->dispersion[a]);
    value = {weight * value.moment, weight * value.curvature};
  }
  const Real s = update_gram(team, shape, box.curvature, B, j, value.curvature);
  const int pending = box.progress->pending;
  if (lane.needs.response) {
    const bool active = value.curvature > Real(0);
    const Real slope = mu * (Real(1) - mu);  // G'
    for (int k = 0; k < shape.d; ++k) {
      Real* const N = box.coupling + k * shape.width;
      const Real rank = active ? (slope * static_cast<Real>(phi[k]) - value.curvature * N[j]) / s : Real(0);
      if constexpr (kAgain) team.sync();  // N[j] moves, and other members may still be reading it
      if (active) move_later(team, N, box.curvature.row, rank, next, B);
      if (team.rank() == 0) {
        box.pending_rank[pending * shape.d + k] = rank;
        box.pending_moved[pending * shape.d + k] = box.theta_moved[k];
      }
    }
  }
  take_step(team, box, box.curvature, next, B, exact_follows ? Real(0) : value.moment / s);
}

/// After theta_hat has moved by `move`: p += N move.
template <class Real, class Team>
PANDORA_HD void track_theta(const Team& team, const Shape& shape, const BoxView<Real>& box, int B, const Real* move) {
  using V = typename Team::template Vectors<Real>;
  for (int i = team.rank() * V::width; i < B; i += team.size() * V::width) {
    typename V::Vector p = V::load(box.prediction + i);
    for (int k = 0; k < shape.d; ++k)
      p = V::fused(V::load(box.coupling + k * shape.width + i), V::broadcast(move[k]), p);
    V::store(box.prediction + i, p);
  }
  for (int k = team.rank(); k < shape.d; k += team.size()) box.theta_moved[k] += move[k];
}

/// Moves every box's predictions that follow theta_hat, once the period's theta_hat is known.
template <class Real, class Team>
PANDORA_HD void follow_theta(const Team& team, const Shape& shape, const LaneView<Real>& lane, int A, int B) {
  if (!lane.needs.response) return;
  const int row = RewardState::stride(shape.d);
  double* const before = step_scratch(lane.reward_memory, shape.d) + row;
  Real* const move = reinterpret_cast<Real*>(before + row);
  for (int i = team.rank(); i < shape.d; i += team.size())
    move[i] = static_cast<Real>(lane.reward_memory[i] - before[i]);
  team.sync();
  for (int a = 0; a < A; ++a) track_theta(team, shape, lane.box[a], B, move);
  team.sync();
}

}  // namespace pandora::engine
