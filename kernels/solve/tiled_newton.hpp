// Newton's method for teams without vectors, in memory that a block of threads shares: one sweep over a box's samples
// gives the gradient, one more the Hessian, whose Cholesky factor has the right-hand side along. What counts there is
// waiting: for the gradient the warps of a block go through strips of their own, and all members meet once; for the
// Hessian they meet twice for 32 samples of each group of warps, and three times for eight features of its factor.
//
// With many samples the solution is near, and most of a sweep's work is the Hessian's: then only the first sweep forms
// it, and L-BFGS goes on around its factor.
#pragma once

#include <cmath>

#include "kernels/solve/samples.hpp"
#include "kernels/solve/tiled_factor.hpp"

namespace pandora::engine {

/// sum_s l_s(psi_s' rho) + rho' diag(ridges) rho / 2 (eq:known-theta-rho-estimator) with gradient and Hessian, and
/// Newton's direction: both what minimise() moves and its method. Every member finds the same, whatever the team's
/// size.
template <class Real, class Team>
class TiledNewton {
 public:
  static constexpr bool kLastStep = true, kTrustsRate = true;
  static constexpr int kFreshSamples = 2000;  ///< up to so many every sweep forms a Hessian

  /// `ridges` are read where they lie; `weight`: room for one of each sample.
  PANDORA_HD TiledNewton(const Team& team, const SampleView<Real>& samples, const Ridges& ridges,
                         const TileMemory<Real>& memory, Real* weight)
      : team_(team),
        samples_(samples),
        ridges_(ridges),
        given_(memory),
        weight_(weight),
        m_(samples.m),
        width_(memory.width()) {}

  PANDORA_HD const SampleView<Real>& samples() const { return samples_; }
  PANDORA_HD const Ridges& ridges() const { return ridges_; }
  PANDORA_HD int gradients() const { return gradients_; }
  PANDORA_HD void charge() { ++gradients_; }

  PANDORA_HD void start(const Real* rho) {
    keeps_ = samples_.n > kFreshSamples;
    has_factor_ = false;
    pairs_ = 0;
    team_.sync();  // what lay there before may still be in use
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      memory().rho()[k] = k < m_ ? static_cast<double>(rho[k]) : 0.0;
      memory().direction()[k] = 0.0;
    }
    team_.sync();
  }

  /// Gradient and Hessian at rho, or where the factor is kept the gradient alone.
  PANDORA_APART PANDORA_HD void evaluate() {
    ++gradients_;
    for (int k = team_.rank(); k < width_; k += team_.size()) memory().point()[k] = static_cast<Real>(memory().rho()[k]);
    team_.sync();
    const TeamPart<Team> part = part_of(team_);
    const int strips = (samples_.n + kRows - 1) / kRows;
    for (int stream = part.index; stream < kStreams; stream += part.count)
      for (int strip = stream; strip < strips; strip += kStreams)
        add_moments(part, memory().sums(stream), strip * kRows, strip == stream);
    team_.sync();
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      double sum = ridges_.of(k) * memory().rho()[k];
      for (int stream = 0; stream < kStreams && stream < strips; ++stream) sum += memory().sums(stream)[k];
      memory().gradient()[k] = sum;
    }
    if (!has_factor_) form_hessian(part);
    team_.sync();
  }

  /// direction = -Hessian^-1 gradient; the Hessian becomes its factor. False if it is not positive definite.
  PANDORA_APART PANDORA_HD bool direct() {
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      const Real gradient = k < m_ ? static_cast<Real>(memory().gradient()[k]) : Real(0);
      memory().before()[k] = gradient;
      memory().right(0)[k] = -gradient;
    }
    team_.sync();
    if (has_factor_) {
      direct_around_factor();
      return true;
    }
    if (!factor().factorise()) return false;
    factor().substitute_back();
    has_factor_ = keeps_;
    return true;
  }
  PANDORA_HD bool recover() { return false; }
  PANDORA_HD void stepped(double, double, double part) {
    if (!has_factor_) return;
    const int pair = pairs_++ % Memory::kPairs;
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      memory().step(pair)[k] = static_cast<Real>(part * memory().direction()[k]);
      memory().change(pair)[k] = static_cast<Real>(memory().gradient()[k]) - memory().before()[k];
    }
    team_.sync();
  }

  /// gradient' direction
  PANDORA_HD double slope() const {
    double sum = 0.0;
    for (int k = 0; k < m_; ++k) sum = fused(memory().gradient()[k], memory().direction()[k], sum);
    return sum;
  }

  /// rho += step * direction
  PANDORA_HD void move(double step) {
    for (int k = team_.rank(); k < width_; k += team_.size()) memory().rho()[k] += step * memory().direction()[k];
    team_.sync();
  }

 private:
  using Memory = TileMemory<Real>;
  // Asked for in every function that stands apart (see ScalarTeam::kShares).
  PANDORA_HD Memory memory() const {
    if constexpr (Team::kShares)
      return Memory(Team{}.shared(), m_);
    else
      return given_;
  }
  static constexpr int kSide = Memory::kSide, kRows = Memory::kRows, kStreams = Memory::kStreams,
                       kStrip = Memory::kStrip, kGroups = Memory::kGroups;

  // A strip from `first` on joins its stream's sum, by a part of the team; h(z) of its samples where a Hessian follows.
  PANDORA_HD void add_moments(const TeamPart<Team>& part, double* sums, int first, bool starts) const {
    const int count = samples_.n - first < kRows ? samples_.n - first : kRows, pieces = width_ / 4,
              stride = memory().terms_stride();
    Real* const terms = memory().terms(part.index);
    Real* const moment = memory().moment(part.index);
    const bool kept = pieces <= part.team.size();  // four features each, in registers
    Four<Real> x[kRows];
    for (int piece = part.team.rank(); piece < pieces; piece += part.team.size()) {
      const Four<Real> point = fours(memory().point())[piece];
      PANDORA_UNROLL
      for (int s = 0; s < kRows; ++s)
        if (s < count) x[s] = fours(samples_.psi_of(first + s))[piece];
      PANDORA_UNROLL
      for (int s = 0; s < kRows; ++s) {
        if (s >= count) continue;
        Real z = 0;
        PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) z = fused(x[s].of[e], point.of[e], z);
        terms[s * stride + piece] = z;
      }
    }
    part.team.sync();
    for (int s = part.team.rank(); s < count; s += part.team.size()) {
      const Real* const of = terms + s * stride;
      Real z[2] = {};
      for (int piece = 0; piece < pieces; piece += 2) {
        z[0] += of[piece];
        z[1] += of[piece + 1];
      }
      const IndexMoment<Real> value =
          index_moment(samples_.loss, z[0] + z[1], samples_.cost[first + s], samples_.mu[first + s]);
      moment[s] = samples_.weight_of(first + s) * value.moment;
      if (!has_factor_) weight_[first + s] = samples_.weight_of(first + s) * value.curvature;
    }
    part.team.sync();
    for (int piece = part.team.rank(); piece < pieces; piece += part.team.size()) {
      Four<Real> sum{};
      PANDORA_UNROLL
      for (int s = 0; s < kRows; ++s) {
        if (s >= count) continue;
        const Four<Real> of = kept ? x[s] : fours(samples_.psi_of(first + s))[piece];
        PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) sum.of[e] = fused(moment[s], of.of[e], sum.of[e]);
      }
      PANDORA_UNROLL
      for (int e = 0; e < 4; ++e)
        sums[4 * piece + e] = (starts ? 0.0 : sums[4 * piece + e]) + static_cast<double>(sum.of[e]);
    }
  }

  // Ridges and the sum of h(z) psi psi': every group of the team has streams of strips, every member of it a tile.
  PANDORA_HD void form_hessian(const TeamPart<Team>& part) const {
    const int strips = (samples_.n + kStrip - 1) / kStrip, groups = Memory::groups(part.count),
              members = team_.size() / groups, group = team_.rank() / members;
    for (int stream = group; stream - group < kGroups; stream += groups)
      for (int tile = team_.rank() % members; tile - team_.rank() % members < memory().tiles(); tile += members) {
        const bool mine = tile < memory().tiles() && stream < kGroups;
        const TilePlace at = mine ? place_of_tile(tile) : TilePlace{0, 0};
        Four<Real> sum[kSide][2] = {};
        for (int strip = stream; strip - group < strips; strip += kGroups) {
          const int first = strip * kStrip, left = samples_.n - first,
                    count = left < 0 || stream >= kGroups ? 0
                            : left < kStrip               ? left
                                                          : kStrip;
          if constexpr (!Team::kAlone) stage(part, groups, group, first, count);
          PANDORA_ROLLED
          for (int s = 0; s < count && mine; ++s)
            add_sample(at, Team::kAlone ? samples_.psi_of(first + s) : memory().row(group, s),
                       Team::kAlone ? weight_[first + s] : memory().weight(group)[s], sum);
        }
        for (int next = 0; next < groups; ++next) {  // one stream after the other
          if (next == group && mine) add_to_tile(tile, at, stream == 0, sum);
          team_.sync();
        }
      }
  }

  // A group's strip to where all its members read it.
  PANDORA_HD void stage(const TeamPart<Team>& part, int groups, int group, int first, int count) const {
    constexpr int kAtOnce = 2;  // on their way
    const int parts = part.count / groups, pieces = width_ / 4;
    team_.sync();  // what lay there before is done with
    for (int piece = part.team.rank(); piece < pieces; piece += part.team.size())
      for (int s0 = part.index % parts; s0 < count; s0 += kAtOnce * parts) {
        Four<Real> x[kAtOnce];
        PANDORA_UNROLL
        for (int k = 0; k < kAtOnce; ++k)
          if (s0 + k * parts < count) x[k] = fours(samples_.psi_of(first + s0 + k * parts))[piece];
        PANDORA_UNROLL
        for (int k = 0; k < kAtOnce; ++k)
          if (s0 + k * parts < count) fours(memory().row(group, s0 + k * parts))[piece] = x[k];
      }
    if (part.index % parts == 0)
      for (int s = part.team.rank(); s < count; s += part.team.size()) memory().weight(group)[s] = weight_[first + s];
    team_.sync();
  }

  static PANDORA_HD void add_sample(TilePlace at, const Real* row, Real weight, Four<Real> (&sum)[kSide][2]) {
    if (weight == Real(0)) return;  // the same in every member of a group
    const Four<Real>* const left = fours(row + at.i * kSide);
    const Four<Real>* const right = fours(row + at.j * kSide);
    const Four<Real> a[2] = {left[0], left[1]}, b[2] = {right[0], right[1]};
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r) {
      const Real scaled = weight * a[r / 4].of[r % 4];
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c)
        sum[r][c / 4].of[c % 4] = fused(scaled, b[c / 4].of[c % 4], sum[r][c / 4].of[c % 4]);
    }
  }

  // `starts`: from the ridges, and beyond m from ones, which the factor leaves alone.
  PANDORA_HD void add_to_tile(int tile, TilePlace at, bool starts, const Four<Real> (&sum)[kSide][2]) const {
    Four<Real>* const out = fours(memory().tile(tile));
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r) {
      const int k = at.i * kSide + r;
      const Real diagonal = at.i != at.j ? Real(0) : k < m_ ? static_cast<Real>(ridges_.of(k)) : Real(1);
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) {
        Real& to = out[2 * r + c / 4].of[c % 4];
        to = (starts ? (c == r ? diagonal : Real(0)) : to) + sum[r][c / 4].of[c % 4];
      }
    }
  }

  // Made where it is used: a member of it would be kept in memory.
  PANDORA_HD TiledFactor<Real, Team> factor() const { return {team_, memory(), m_}; }

  // L-BFGS around the factor of the first Hessian: the two-loop recursion, with right and direction for its vector.
  PANDORA_HD void direct_around_factor() {
    constexpr int kPairs = Memory::kPairs;
    Real scale[kPairs], alpha[kPairs];  // by age: in registers
    PANDORA_UNROLL
    for (int age = 0; age < kPairs; ++age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const Real curvature = dot(memory().step(at), memory().change(at));
      scale[age] = curvature > Real(0) ? Real(1) / curvature : Real(0);  // else only rounding is left of the step
      alpha[age] = scale[age] * dot(memory().step(at), memory().right(0));
      team_.sync();
      for (int k = team_.rank(); k < width_; k += team_.size())
        memory().right(0)[k] = fused(-alpha[age], memory().change(at)[k], memory().right(0)[k]);
      team_.sync();
    }
    factor().substitute_forward();
    factor().substitute_back();
    PANDORA_UNROLL
    for (int age = kPairs - 1; age >= 0; --age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const double weight = static_cast<double>(alpha[age] - scale[age] * dot(memory().change(at), memory().direction()));
      team_.sync();
      for (int k = team_.rank(); k < m_; k += team_.size())
        memory().direction()[k] = fused(weight, static_cast<double>(memory().step(at)[k]), memory().direction()[k]);
      team_.sync();
    }
  }
  template <class X>
  PANDORA_HD Real dot(const Real* a, const X* b) const {
    Real sum = 0;
    for (int k = 0; k < m_; ++k) sum = fused(a[k], static_cast<Real>(b[k]), sum);
    return sum;
  }

  const Team& team_;
  const SampleView<Real> samples_;
  const Ridges& ridges_;
  const TileMemory<Real> given_;
  Real* const weight_;
  const int m_, width_;
  int gradients_ = 0, pairs_ = 0;
  bool keeps_ = false, has_factor_ = false;  // the first Hessian's factor for the rest of the solve
};

}  // namespace pandora::engine
