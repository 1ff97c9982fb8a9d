// The inverse Hessian of a joint refit with no more samples than a box has parameters. It is computed in the space of
// the samples instead of the parameters. P is the Hessian of the ridges alone, whose inverse is known. F holds the
// samples' features, each in the rows of its box, and w_s = h_s / kappa of its box. Then
//
//   C = (P + F W F')^-1 = P^-1 - P^-1 F N F' P^-1,   N = W^1/2 M^-1 W^1/2,   M = I + W^1/2 F' P^-1 F W^1/2.
//
// Between the slopes of boxes a and b, P^-1 is alpha 1{a = b} + beta with alpha = 1 / lambda_d and beta = (1 / lambda_m
// - 1 / lambda_d) / A. So M depends on the samples only through products of their features, whatever their boxes are.
// With groups of boxes (SlopeGroups) beta has the group's size in place of A, and is 0 between boxes of two groups.
#pragma once

#include <cmath>

#include "kernels/rules/shrinkage.hpp"
#include "kernels/solve/joint_memory.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

template <class Real, class Team, bool kTied>
class JointSamples {
 public:
  PANDORA_HD JointSamples(const Team& team, const LaneView<Real>& lane, const JointMemory& memory,
                          SlopeGroups<kTied> groups, double ridge_first, double* packed)
      : team_(team), lane_(lane), memory_(memory), groups_(groups), first_(1.0 / ridge_first), packed_(packed) {}

  /// Whether this method is used for these samples.
  PANDORA_HD static bool takes(int samples, int m) { return samples > 0 && samples <= m; }

  /// Takes the boxes' samples and their features' products.
  PANDORA_HD void gather(int stride) {
    count_ = samples_before(memory_.boxes());
    for (int a = 0; a < memory_.boxes(); ++a) {
      const BoxView<Real>& box = lane_.box[a];
      const int before = samples_before(a);
      for (int s = team_.rank(); s < box.progress->samples; s += team_.size()) {
        const Real* const psi = lane_.tape.psi_of(box.rows[s], stride);
        for (int k = 0; k < m(); ++k) features()[k][before + s] = static_cast<double>(psi[k]);
        memory_.owner()[before + s] = a;
      }
    }
    team_.sync();
    for (int s = team_.rank(); s < count_; s += team_.size()) {
      double* const row = products()[s];
      for (int t = 0; t < count_; ++t) row[t] = 0.0;
      for (int k = 1; k < m(); ++k) {
        const double* const feature = features()[k];
        const double own = feature[s];
        for (int t = 0; t < count_; ++t) row[t] = fused(own, feature[t], row[t]);
      }
    }
    team_.sync();
  }

  /// Computes W^1/2 of box a's samples, from their curvatures and the box's dispersion.
  PANDORA_HD void weigh(int a, const Real* curvature, double kappa) const {
    const int n = lane_.box[a].progress->samples, before = samples_before(a);
    for (int s = team_.rank(); s < n; s += team_.size())
      roots()[before + s] = ::sqrt(static_cast<double>(curvature[s]) / kappa);
    team_.sync();
  }

  /// Computes N under these ridges, and how many parameters of every box its samples determine: the sum of 1 - M^-1
  /// over them. False if M is not positive definite, for instance if a weight is not finite.
  PANDORA_HD bool invert(double ridge_mean, double ridge_own) {
    alpha_ = 1.0 / ridge_own;
    common_ = 1.0 / ridge_mean - alpha_;
    if constexpr (!kTied) common_ /= memory_.boxes();
    const Rows N = inverse();
    for (int s = team_.rank(); s < count_; s += team_.size())
      for (int t = 0; t < count_; ++t) {
        const bool same = box_of(s) == box_of(t);
        const double value =
            products()[s][t] * part(box_of(s), t) + (same ? first_ * features()[0][s] * features()[0][t] : 0.0);
        N[s][t] = (s == t ? 1.0 : 0.0) + roots()[s] * roots()[t] * value;
      }
    team_.sync();
    if (!invert_symmetric(team_, N, count_, packed_)) return false;
    for (int a = team_.rank(); a < memory_.boxes(); a += team_.size()) {
      const int before = samples_before(a), n = lane_.box[a].progress->samples;
      double sum = 0.0;
      for (int s = before; s < before + n; ++s) sum += 1.0 - N[s][s];
      memory_.determined()[a] = sum;
    }
    team_.sync();
    for (int s = team_.rank(); s < count_; s += team_.size())
      for (int t = 0; t < count_; ++t) N[s][t] *= roots()[s] * roots()[t];
    team_.sync();
    return true;
  }

  /// Directions -C g: P^-1 (F N F' P^-1 g - g).
  PANDORA_HD void point_downhill() const {
    const int A = memory_.boxes();
    for (int a = 0; a < A; ++a)
      for (int k = team_.rank(); k < m(); k += team_.size()) memory_.direction(a)[k] = memory_.gradient(a)[k];
    spread();
    for (int s = team_.rank(); s < count_; s += team_.size()) {
      const double* const direction = memory_.direction(box_of(s));
      double sum = 0.0;
      for (int k = 0; k < m(); ++k) sum = fused(features()[k][s], direction[k], sum);
      memory_.line()[s] = sum;
    }
    team_.sync();
    multiply_vector(team_, inverse(), memory_.line(), memory_.terms(), count_, count_);
    for (int a = 0; a < A; ++a) {
      const int before = samples_before(a), n = lane_.box[a].progress->samples;
      for (int k = team_.rank(); k < m(); k += team_.size()) {
        double sum = -memory_.gradient(a)[k];
        for (int s = before; s < before + n; ++s) sum = fused(features()[k][s], memory_.terms()[s], sum);
        memory_.direction(a)[k] = sum;
      }
    }
    spread();
  }

  /// The traces of C under the ridges of `state`, after invert() with them.
  PANDORA_HD SlopeTraces traces(const JointState& state) const {
    const int A = memory_.boxes(), n = m() - 1;
    double trace = 0.0, mean = 0.0;
    if constexpr (kTied)
      for (int a = 0; a < A; ++a) trace += n * (alpha_ + beta(a));
    else
      trace = A * n * (alpha_ + beta(0));
    for (int a = 0; a < A; ++a) trace -= sum_of_products([&](int s) { return part(a, s); });
    for (int group = 0; group < groups_.count(); ++group) {
      const int one = groups_.first(group), boxes = groups_.size(one);
      const double all = alpha_ + boxes * beta(one);
      mean += n * all - sum_of_products([&](int s) { return groups_.same(one, box_of(s)) ? all : 0.0; }) / boxes;
    }
    return {state.ridge_mean, state.ridge_own, mean, trace};
  }

  /// Stores every C_aa in its box. This overwrites the samples' products.
  PANDORA_HD void store_covariances(const Shape& shape) const {
    const Rows C = covariance();
    for (int a = 0; a < memory_.boxes(); ++a) {
      form_covariance(a);
      StoredInverse<Real>(shape, Team::kVectors).store(team_, lane_.box[a].curvature.P, [&](int i, int k) {
        return C[i][k];
      });
    }
  }

 private:
  PANDORA_HD void form_covariance(int a) const {
    const Rows U = memory_.rows(3, count_), T = memory_.rows(1, count_), C = covariance();
    for (int k = team_.rank(); k < m(); k += team_.size()) {
      for (int s = 0; s < count_; ++s)
        U[k][s] = features()[k][s] * (k > 0 ? part(a, s) : box_of(s) == a ? first_ : 0.0);
      for (int l = 0; l < m(); ++l) C[k][l] = k != l ? 0.0 : k > 0 ? alpha_ + beta(a) : first_;
    }
    team_.sync();
    multiply_symmetric(team_, U, inverse(), T, m(), count_);
    add_symmetric(team_, -1.0, T, U, C, C, m(), count_);
  }

  PANDORA_HD int m() const { return memory_.parameters(); }
  PANDORA_HD Rows features() const { return memory_.rows(0, count_); }  // F: m x samples
  PANDORA_HD Rows products() const { return memory_.rows(1, count_); }  // of slopes' features: samples x samples
  PANDORA_HD Rows inverse() const { return memory_.rows(2, count_); }   // N
  PANDORA_HD Rows covariance() const { return memory_.rows(4, m()); }
  PANDORA_HD int box_of(int s) const { return static_cast<int>(memory_.owner()[s]); }
  PANDORA_HD double* roots() const { return memory_.shift(); }

  PANDORA_HD int samples_before(int a) const {
    int sum = 0;
    for (int b = 0; b < a; ++b) sum += lane_.box[b].progress->samples;
    return sum;
  }
  // The element of P^-1 between the slopes of box a and those of sample s's box.
  PANDORA_HD double part(int a, int s) const {
    const int b = box_of(s);
    return b == a ? alpha_ + beta(a) : groups_.same(a, b) ? beta(a) : 0.0;
  }
  PANDORA_HD double beta(int a) const {
    if constexpr (kTied)
      return common_ / groups_.size(a);
    else
      return common_;
  }

  // sum_st N_st (features' product)_st c_s c_t
  template <class Part>
  PANDORA_HD double sum_of_products(Part&& part_of) const {
    for (int s = team_.rank(); s < count_; s += team_.size()) {
      double sum = 0.0;
      for (int t = 0; t < count_; ++t) sum = fused(inverse()[s][t] * products()[s][t], part_of(t), sum);
      memory_.terms()[s] = part_of(s) * sum;
    }
    team_.sync();
    double sum = 0.0;
    for (int s = 0; s < count_; ++s) sum += memory_.terms()[s];
    team_.sync();
    return sum;
  }

  // directions <- P^-1 directions
  PANDORA_HD void spread() const {
    team_.sync();
    const int A = memory_.boxes();
    for (int k = team_.rank(); k < m(); k += team_.size()) {
      for (int group = 0; group < groups_.count(); ++group) {
        double sum = 0.0;
        for (int a = 0; a < A; ++a) sum += groups_.of(a) == group ? memory_.direction(a)[k] : 0.0;
        for (int a = 0; a < A; ++a) {
          if (groups_.of(a) != group) continue;
          double& value = memory_.direction(a)[k];
          value = k == 0 ? first_ * value : alpha_ * value + beta(a) * sum;
        }
      }
    }
    team_.sync();
  }

  const Team& team_;
  const LaneView<Real>& lane_;
  const JointMemory& memory_;
  const SlopeGroups<kTied> groups_;
  const double first_;  // P^-1 of an intercept
  double* const packed_;
  int count_ = 0;
  double alpha_ = 0.0, common_ = 0.0;  // common_: beta; with tied slopes, times the group's size
};

}  // namespace pandora::engine
