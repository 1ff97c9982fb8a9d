// The inverse Hessian of a refit of all boxes of a lane together, whose objective is that of
// kernels/rules/shrinkage.hpp. The Hessian is D - delta E E' with D one block per box, E the boxes' slopes on top of
// each other and delta = (lambda_d - lambda_m) / A. With B_a = D_a^-1, U_a its columns of slopes and W = sum_a
// B_a[slopes, slopes],
//
//   S = delta (I - delta W)^-1,   C_ab = B_a 1{a = b} + U_a S U_b'.
//
// With groups of boxes (SlopeGroups) this holds for each group with its own E, delta, W and S, and C_ab = 0 between
// boxes of two groups.
#pragma once

#include "kernels/products/product_memory.hpp"
#include "kernels/rules/shrinkage.hpp"
#include "kernels/solve/joint_memory.hpp"

namespace pandora::engine {

/// B_a and S of the last Hessian that was formed. Later steps may use them too, after ridges have moved.
template <class Real, class Team, bool kTied>
class JointFactor {
 public:
  PANDORA_HD JointFactor(const Team& team, const Shape& shape, const JointMemory& memory, SlopeGroups<kTied> groups,
                         double* packed)
      : team_(team),
        memory_(memory),
        groups_(groups),
        packed_(packed),
        A_(shape.A),
        m_(shape.m),
        n_(m_ - 1),
        stored_(shape, Team::kVectors) {}

  /// Replaces kappa_a D_a by B_a, in place. False if it is not positive definite.
  PANDORA_HD bool invert(int a, double kappa) const {
    if (!invert_symmetric(team_, memory_.inverse(a), m_, packed_)) return false;
    for (int at = team_.rank(); at < m_ * m_; at += team_.size()) memory_.matrix(a)[at] *= kappa;
    team_.sync();
    return true;
  }

  /// S from all B_a, under the current ridges. False if I - delta W is not positive definite.
  PANDORA_HD bool couple(const JointState& state) {
    ridge_mean_ = state.ridge_mean;
    ridge_own_ = state.ridge_own;
    for (int group = 0; group < groups_.count(); ++group) {
      const double delta = delta_of(groups_.first(group));
      const Rows W = memory_.shared(), coupling = memory_.coupling(group);
      for (int i = team_.rank(); i < n_; i += team_.size()) {
        sum_slopes(group, i);
        for (int k = 0; k < n_; ++k) coupling[i][k] = (i == k ? 1.0 : 0.0) - delta * W[i][k];
      }
      team_.sync();
      if (!invert_symmetric(team_, coupling, n_, packed_)) return false;
    }
    return true;
  }

  /// d_a = -(B_a g_a + U_a S sum_b (-B_b g_b)[slopes])
  PANDORA_HD void point_downhill() const {
    double* const line = memory_.line();
    for (int a = 0; a < A_; ++a)
      multiply_vector(team_, memory_.inverse(a), memory_.gradient(a), memory_.direction(a), m_, m_);
    for (int group = 0; group < groups_.count(); ++group) {
      for (int k = team_.rank(); k < n_; k += team_.size()) {
        double sum = 0.0;
        for (int a = 0; a < A_; ++a) sum += groups_.of(a) == group ? memory_.direction(a)[k + 1] : 0.0;
        line[k] = delta_of(groups_.first(group)) * sum;
      }
      team_.sync();
      multiply_vector(team_, memory_.coupling(group), line, memory_.shift(), n_, n_);
      add_shift(group);
    }
  }

  /// The traces of C, and how many parameters of a box the samples have determined: tr(C_aa H_a) / kappa_a = tr(C_aa
  /// D_a) - tr(C_aa ridges), where the first term is m + tr(S B_a[slopes, slopes]). C_aa goes into `boxes`' curvature
  /// if that is not null.
  PANDORA_HD SlopeTraces find_covariances(double ridge_first, const BoxView<Real>* boxes) const {
    SlopeTraces out{ridge_mean_, ridge_own_, 0.0, 0.0};
    for (int group = 0; group < groups_.count(); ++group) {
      if constexpr (kTied) {  // W holds the last group's
        for (int i = team_.rank(); i < n_; i += team_.size()) sum_slopes(group, i);
        team_.sync();
      }
      out.mean += dot_matrices(team_, memory_.shared(), memory_.coupling(group), n_, n_, memory_.terms()) /
                  groups_.size(groups_.first(group));
    }
    for (int a = 0; a < A_; ++a) {
      const Rows slopes = memory_.slopes(a), own{slopes[1], m_}, T = memory_.product(),
                 coupling = memory_.coupling(groups_.of(a));
      const double delta = delta_of(a), coupled = delta * dot_matrices(team_, own, coupling, n_, n_, memory_.terms());
      multiply_symmetric(team_, slopes, coupling, T, m_, n_);
      const double first = dot_matrices(team_, T, slopes, 1, n_, memory_.terms()),
                   others = dot_matrices(team_, {T[1], n_}, own, n_, n_, memory_.terms());
      double trace = delta * others;
      for (int i = 0; i < n_; ++i) trace += own[i][i];
      out.all += trace;
      if (team_.rank() == 0)
        memory_.determined()[a] =
            m_ + coupled - ridge_first * (memory_.inverse(a)[0][0] + delta * first) - ridge_own_ * trace;
      team_.sync();
      if (boxes == nullptr) continue;
      add_symmetric(team_, delta, T, slopes, memory_.inverse(a), memory_.shared(), m_, n_);
      const Rows C = memory_.shared();
      stored_.store(team_, boxes[a].curvature.P, [&](int i, int k) { return C[i][k]; });
    }
    return out;
  }

 private:
  PANDORA_HD double delta_of(int a) const { return (ridge_own_ - ridge_mean_) / groups_.size(a); }

  // Row i of W, over the boxes of a group.
  PANDORA_HD void sum_slopes(int group, int i) const {
    double* const sum = memory_.shared()[i];
    for (int k = 0; k < n_; ++k) sum[k] = 0.0;
    for (int a = 0; a < A_; ++a)
      for (int k = 0; k < n_ && groups_.of(a) == group; ++k) sum[k] += memory_.slopes(a)[i + 1][k];
  }

  // d_a <- -(d_a + U_a shift) for the boxes of a group.
  PANDORA_HD void add_shift(int group) const {
    for (int a = 0; a < A_; ++a) {
      if (groups_.of(a) != group) continue;
      double *const direction = memory_.direction(a), *const shared = memory_.terms();
      multiply_vector(team_, memory_.slopes(a), memory_.shift(), shared, m_, n_);
      for (int k = team_.rank(); k < m_; k += team_.size()) direction[k] = -(direction[k] + shared[k]);
      team_.sync();
    }
  }

  const Team& team_;
  const JointMemory& memory_;
  const SlopeGroups<kTied> groups_;
  double* const packed_;
  const int A_, m_, n_;
  const StoredInverse<Real> stored_;
  double ridge_mean_ = 0.0, ridge_own_ = 0.0;  // under which the Hessian was formed
};

}  // namespace pandora::engine
