// A box's samples as its solves see them, and the scratch of a solving team.
#pragma once

#include "kernels/base/assert.hpp"
#include "kernels/base/members.hpp"
#include "kernels/products/product_memory.hpp"
#include "kernels/rules/index_loss.hpp"
#include "kernels/solve/tile_memory.hpp"
#include "kernels/state/reward_state.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// Up to this many samples, solves of teams without vectors form Hessians from all samples; above, only from new ones.
inline constexpr int kOneHessian = 2000;

/// A sample's cost and (plug-in) reward.
template <class Real>
struct alignas(2 * sizeof(Real)) SampleLabel {
  Real cost, mu;
};

/// `rows` points into contexts of `stride` elements at `psi`; costs and (plug-in) rewards follow.
template <class Real>
struct SampleView {
  const Real* psi;
  int m, stride;
  const int* rows;
  const Real* cost;
  const Real* mu;
  int n;
  Loss loss = Loss::reservation;
  const Real* weight = nullptr;  ///< of each sample; null: 1
  int apart = 1;  ///< the distance between costs, and between mu; 2: the two numbers of a sample are neighbours

  PANDORA_HD Real cost_of(int s) const { return cost[apart * s]; }
  PANDORA_HD Real mu_of(int s) const { return mu[apart * s]; }
  PANDORA_HD const SampleLabel<Real>* labels() const { return reinterpret_cast<const SampleLabel<Real>*>(cost); }
  PANDORA_HD Real weight_of(int s) const { return weight == nullptr ? Real(1) : weight[s]; }
  PANDORA_HD const Real* psi_of(int s) const { return psi + static_cast<std::size_t>(rows[s]) * stride; }
};

/// One per team that solves at the same time.
template <class Real>
struct SolveScratch {
  Real *mu, *cost, *moment, *weight;   ///< capacity each; teams without vectors have labels at mu
  Real* point;                         ///< stride
  double *rho, *gradient, *direction;  ///< padded(m) each, zero beyond m
  double* inverse;                     ///< m x m
  double* cross;                       ///< d x padded(m)
  double* joint;                       ///< the scratch of a JointSolve; null where no lane fits jointly
  // For teams without vectors:
  void* tiled;           ///< TileMemory or ProductMemory, if the team has no memory of its own for it
  double* partial;       ///< m per group of members (see groups_of)
  double* factor;        ///< m (m + 1) / 2: lower triangle by rows
  int *active, *counts;  ///< capacity: samples with weight; one for each member: see for_active

  static PANDORA_HD constexpr int padded(int m) { return (m + 15) / 16 * 16; }
};

/// The scratch of a run: one for each slot, with room for `groups` groups of a team of `members`.
template <class Real>
struct ScratchPool {
  Real* reals;
  double* doubles;
  int* ints;
  int groups, members;
  std::size_t joint;  ///< doubles of a JointSolve, in whole vectors
  std::size_t walks;  ///< bytes that the lanes of a cohort walk in

  PANDORA_HD std::size_t tiled_bytes(const Shape& s) const {
    const std::size_t newton = TileMemory<Real>::bytes(s.m), products = ProductMemory<Real>::shared_bytes(s);
    const std::size_t solves = newton > products ? newton : products;
    return solves > walks ? solves : walks;
  }
  PANDORA_HD std::size_t reals_per_slot(const Shape& s) const {
    const std::size_t wanted =
        tiled_bytes(s) / sizeof(Real) + 4 * static_cast<std::size_t>(s.capacity) + static_cast<std::size_t>(s.stride);
    return (wanted + 3) / 4 * 4;
  }
  PANDORA_HD std::size_t doubles_per_slot(const Shape& s) const {
    const std::size_t m = static_cast<std::size_t>(s.m), padded = SolveScratch<Real>::padded(s.m);
    constexpr std::size_t kBehind = 8;  // a vector that begins in the last row of `inverse` ends up to seven behind it
    return (3 + static_cast<std::size_t>(s.d)) * padded + m * m + groups * m + m * (m + 1) / 2 + joint + kBehind;
  }
  PANDORA_HD std::size_t ints_per_slot(const Shape& s) const {
    return static_cast<std::size_t>(s.capacity) + static_cast<std::size_t>(members) + 1;
  }

  PANDORA_HD SolveScratch<Real> of(const Shape& s, int slot) const {
    const std::size_t m = static_cast<std::size_t>(s.m), padded = SolveScratch<Real>::padded(s.m);
    SolveScratch<Real> out;
    out.tiled = reals + reals_per_slot(s) * slot;
    out.mu = static_cast<Real*>(out.tiled) + tiled_bytes(s) / sizeof(Real);
    out.cost = out.mu + s.capacity;
    out.moment = out.cost + s.capacity;
    out.weight = out.moment + s.capacity;
    out.point = out.weight + s.capacity;
    out.rho = doubles + doubles_per_slot(s) * slot;
    out.gradient = out.rho + padded;
    out.direction = out.gradient + padded;
    out.cross = out.direction + padded;
    out.inverse = out.cross + s.d * padded;
    out.partial = out.inverse + m * m;
    out.factor = out.partial + groups * m;
    out.joint = joint > 0 ? out.factor + m * (m + 1) / 2 : nullptr;
    out.active = ints + ints_per_slot(s) * slot;
    out.counts = out.active + s.capacity;
    return out;
  }
};

/// The number of groups of m members each among which a large team shares a sum over samples.
PANDORA_HD inline int groups_of(int team_size, int m) {
  return team_size / m > 1 ? team_size / m : 1;
}

/// The samples of box a with their costs and mu. mu is mu*, or its plug-in under the current theta_hat
/// (eq:plugin:loss). For teams without vectors the two numbers of a sample are neighbours.
template <class Real, class Team>
PANDORA_HD SampleView<Real> gather_samples(const Team& team, const Shape& shape, const LaneView<Real>& lane, int a,
                                           const SolveScratch<Real>& scratch) {
  constexpr int W = Team::template Vectors<Real>::width;
  const BoxView<Real>& box = lane.box[a];
  const int n = box.progress->samples, d = shape.d;
  PANDORA_ASSERT(n <= shape.capacity);
  const bool learned = lane.spec.learns_reward();
  const double* theta = lane.reward_memory;
  constexpr int kApart = Team::kVectors ? 1 : 2;
  Real* const costs = Team::kVectors ? scratch.cost : scratch.mu;
  Real* const mus = Team::kVectors ? scratch.mu : scratch.mu + 1;
  for (int first = team.rank() * W; first < n; first += team.size() * W) {
    const int count = n - first < W ? n - first : W;
    Real mu[W];
    for (int s = 0; s < count; ++s) {
      const std::size_t at = static_cast<std::size_t>(box.rows[first + s]) * shape.A + a;
      costs[kApart * (first + s)] = static_cast<Real>(lane.tape.cost[at]);
      if (!learned) {
        mu[s] = static_cast<Real>(lane.tape.mu[at]);
        continue;
      }
      const float* phi = lane.tape.phi + at * d;
      Real z = 0;
      for (int i = 0; i < d; ++i) z += static_cast<Real>(theta[i]) * static_cast<Real>(phi[i]);
      mu[s] = z;
    }
    for (int s = count; s < W; ++s) mu[s] = Real(0);
    if (learned) PANDORA_SIMD
    for (int s = 0; s < W; ++s) mu[s] = logistic(mu[s]);
    for (int s = 0; s < count; ++s) mus[kApart * (first + s)] = mu[s];
  }
  team.sync();
  return {lane.tape.psi, shape.m, shape.stride, box.rows, costs, mus, n, lane.spec.loss, box.weight, kApart};
}

/// Writes w_s m_s(z_s) and w_s h_s of all samples at `point` to scratch, a sample per member. For teams without
/// vectors.
template <class Real, class Team>
PANDORA_HD void form_moments(const Team& team, const SampleView<Real>& samples, const Real* point,
                             const SolveScratch<Real>& scratch) {
  for (int s = team.rank(); s < samples.n; s += team.size()) {
    const Real* const psi = samples.psi_of(s);
    Real z = 0;
    for (int k = 0; k < samples.m; ++k) z = fused(psi[k], point[k], z);
    const IndexMoment<Real> value = index_moment(samples.loss, z, samples.cost_of(s), samples.mu_of(s));
    scratch.moment[s] = samples.weight_of(s) * value.moment;
    scratch.weight[s] = samples.weight_of(s) * value.curvature;
  }
  team.sync();
}

/// Calls f(s, to, weight) for the samples s = first .. n - 1 of which weight(s) is not 0, with to = 0, 1, .. in their
/// order. Returns how many there are. weight(s) is called once. `counts`: two numbers for every warp of the team.
template <class Real, class Team, class Weight, class F>
PANDORA_HD int for_active(const Team& team, Weight&& weight_of, int first, int n, int* counts, F&& f) {
  const TeamPart<Team> part = part_of(team);
  using Warp = std::remove_cvref_t<decltype(part.team)>;
  const Members<Warp> all{part.team};
  int count = 0;
  for (int at = first, round = 0; at < n; at += part.count * all.size(), round ^= 1) {  // loop: active samples
    const int mine = at + part.index * all.size();
    Own<Warp, Real> weight;
    all.each([&](int i) { weight[i] = mine + i < n ? weight_of(mine + i) : Real(0); });
    const unsigned active = all.which([&](int i) { return weight[i] != Real(0); });
    int before = count, here = count_bits(active);
    if (part.count > 1) {
      int* const of = counts + round * part.count;
      if (part.team.rank() == 0) of[part.index] = here;
      team.sync();
      here = 0;
      for (int k = 0; k < part.count; ++k) {
        before += k < part.index ? of[k] : 0;
        here += of[k];
      }
    }
    all.each([&](int i) {
      if (weight[i] != Real(0)) f(mine + i, before + count_bits(active & ((1u << i) - 1u)), weight[i]);
    });
    count += here;
  }
  team.sync();
  return count;
}

}  // namespace pandora::engine
