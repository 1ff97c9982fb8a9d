// Newton's method for teams without vectors, in memory that a block of threads shares: one sweep over a box's samples
// gives the gradient and the Hessian, whose Cholesky factor has the right-hand side along. What counts there are
// barriers, the steps at which all members wait: four for 32 samples and three for eight features.
//
// With many samples the solution is near, and most of a sweep's work is the Hessian's: then only the first sweep forms
// it, and L-BFGS goes on around its factor.
#pragma once

#include <cmath>

#include "kernels/solve/samples.hpp"
#include "kernels/solve/tiled_factor.hpp"

namespace pandora::engine {

/// sum_s l_s(psi_s' rho) + rho' diag(ridges) rho / 2 (eq:known-theta-rho-estimator) with gradient and Hessian, and
/// Newton's direction: both what minimise() moves and its method. Every member finds the same. Sums go over strips in
/// the order of the samples whatever the team's size.
template <class Real, class Team>
class TiledNewton {
 public:
  static constexpr bool kLastStep = true, kTrustsRate = true;
  static constexpr int kFreshSamples = 2000;  ///< up to so many every sweep forms a Hessian

  /// `ridges` are read where they lie.
  PANDORA_HD TiledNewton(const Team& team, const SampleView<Real>& samples, const Ridges& ridges,
                         const TileMemory<Real>& memory)
      : team_(team), samples_(samples), ridges_(ridges), memory_(memory), m_(samples.m), width_(memory.width()) {}

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
      memory_.rho()[k] = k < m_ ? static_cast<double>(rho[k]) : 0.0;
      memory_.direction()[k] = 0.0;
    }
    team_.sync();
  }

  /// Gradient and Hessian at rho, or where the factor is kept the gradient alone.
  PANDORA_APART PANDORA_HD void evaluate() {
    ++gradients_;
    team_.sync();
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      memory_.point()[k] = static_cast<Real>(memory_.rho()[k]);
      memory_.gradient()[k] = ridges_.of(k) * memory_.rho()[k];
    }
    for (int tile = team_.rank(); tile < memory_.tiles() && !has_factor_; tile += team_.size()) {
      const TilePlace at = place_of_tile(tile);
      Real* const values = memory_.tile(tile);
      for (int e = 0; e < kSide * kSide; ++e) values[e] = Real(0);
      // Beyond m stand ones, which the factor leaves alone.
      for (int r = 0; r < kSide && at.i == at.j; ++r)
        values[r * kSide + r] = at.i * kSide + r < m_ ? static_cast<Real>(ridges_.of(at.i * kSide + r)) : Real(1);
    }
    for (int first = 0; first < samples_.n; first += kStrip)
      add_strip(first, samples_.n - first < kStrip ? samples_.n - first : kStrip);
    team_.sync();
  }

  /// direction = -Hessian^-1 gradient; the Hessian becomes its factor. False if it is not positive definite.
  PANDORA_APART PANDORA_HD bool direct() {
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      const Real gradient = k < m_ ? static_cast<Real>(memory_.gradient()[k]) : Real(0);
      memory_.before()[k] = gradient;
      memory_.right(0)[k] = -gradient;
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
      memory_.step(pair)[k] = static_cast<Real>(part * memory_.direction()[k]);
      memory_.change(pair)[k] = static_cast<Real>(memory_.gradient()[k]) - memory_.before()[k];
    }
    team_.sync();
  }

  /// gradient' direction
  PANDORA_HD double slope() const {
    double sum = 0.0;
    for (int k = 0; k < m_; ++k) sum = fused(memory_.gradient()[k], memory_.direction()[k], sum);
    return sum;
  }

  /// rho += step * direction
  PANDORA_HD void move(double step) {
    for (int k = team_.rank(); k < width_; k += team_.size()) memory_.rho()[k] += step * memory_.direction()[k];
    team_.sync();
  }

 private:
  using Memory = TileMemory<Real>;
  static constexpr int kSide = Memory::kSide, kStrip = Memory::kStrip, kParts = Memory::kParts;
  // The strip of `count` samples from `first` on joins gradient and Hessian.
  PANDORA_HD void add_strip(int first, int count) {
    team_.sync();  // the strip before is done with, and so are point, gradient and tiles set
    const int pieces = width_ / 4;
    for (int at = team_.rank(); at < count * pieces; at += team_.size()) {
      const int s = at / pieces, piece = at % pieces;
      fours(memory_.row(s))[piece] = fours(samples_.psi_of(first + s))[piece];
    }
    team_.sync();
    for (int at = team_.rank(); at < count * kParts; at += team_.size()) {
      const Real* const x = memory_.row(at / kParts);
      Real z = 0;
      for (int k = at % kParts; k < width_; k += kParts) z = fused(x[k], memory_.point()[k], z);
      memory_.part(0)[at] = z;
    }
    team_.sync();
    for (int s = team_.rank(); s < count; s += team_.size()) {
      const Real* const z = memory_.part(s);
      const IndexMoment<Real> value =
          index_moment(samples_.loss, (z[0] + z[1]) + (z[2] + z[3]), samples_.cost[first + s], samples_.mu[first + s]);
      memory_.moment()[s] = samples_.weight_of(first + s) * value.moment;
      memory_.weight()[s] = samples_.weight_of(first + s) * value.curvature;
    }
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      Real sum = 0;
      for (int s = 0; s < count; ++s) sum = fused(memory_.moment()[s], memory_.row(s)[k], sum);
      memory_.gradient()[k] += static_cast<double>(sum);
    }
    for (int tile = team_.rank(); tile < memory_.tiles() && !has_factor_; tile += team_.size())
      add_to_tile(tile, count);
  }

  PANDORA_HD void add_to_tile(int tile, int count) {
    const TilePlace at = place_of_tile(tile);
    Four<Real>* const out = fours(memory_.tile(tile));
    Four<Real> sum[kSide][2];
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r)
      for (int half = 0; half < 2; ++half) sum[r][half] = out[2 * r + half];
    for (int s = 0; s < count; ++s) {
      const Real weight = memory_.weight()[s];
      if (weight == Real(0)) continue;  // the same in every member
      const Four<Real>* const left = fours(memory_.row(s) + at.i * kSide);
      const Four<Real>* const right = fours(memory_.row(s) + at.j * kSide);
      const Four<Real> a[2] = {left[0], left[1]}, b[2] = {right[0], right[1]};
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        const Real scaled = weight * a[r / 4].of[r % 4];
        PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c)
          sum[r][c / 4].of[c % 4] = fused(scaled, b[c / 4].of[c % 4], sum[r][c / 4].of[c % 4]);
      }
    }
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r)
      for (int half = 0; half < 2; ++half) out[2 * r + half] = sum[r][half];
  }

  // Made where it is used: a member of it would be kept in memory.
  PANDORA_HD TiledFactor<Real, Team> factor() const { return {team_, memory_, m_}; }

  // L-BFGS around the factor of the first Hessian: the two-loop recursion, with right and direction for its vector.
  PANDORA_HD void direct_around_factor() {
    constexpr int kPairs = Memory::kPairs;
    Real scale[kPairs], alpha[kPairs];  // by age: in registers
    PANDORA_UNROLL
    for (int age = 0; age < kPairs; ++age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const Real curvature = dot(memory_.step(at), memory_.change(at));
      scale[age] = curvature > Real(0) ? Real(1) / curvature : Real(0);  // else only rounding is left of the step
      alpha[age] = scale[age] * dot(memory_.step(at), memory_.right(0));
      team_.sync();
      for (int k = team_.rank(); k < width_; k += team_.size())
        memory_.right(0)[k] = fused(-alpha[age], memory_.change(at)[k], memory_.right(0)[k]);
      team_.sync();
    }
    factor().substitute_forward();
    factor().substitute_back();
    PANDORA_UNROLL
    for (int age = kPairs - 1; age >= 0; --age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const double weight = static_cast<double>(alpha[age] - scale[age] * dot(memory_.change(at), memory_.direction()));
      team_.sync();
      for (int k = team_.rank(); k < m_; k += team_.size())
        memory_.direction()[k] = fused(weight, static_cast<double>(memory_.step(at)[k]), memory_.direction()[k]);
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
  const TileMemory<Real> memory_;
  const int m_, width_;
  int gradients_ = 0, pairs_ = 0;
  bool keeps_ = false, has_factor_ = false;  // the first Hessian's factor for the rest of the solve
};

}  // namespace pandora::engine
