// The ridge of an index parameter rho_a = (rho_a0, r_a): one number for the intercept, one for the slopes.
#pragma once

#include "kernels/base/elementary.hpp"
#include "kernels/base/hd.hpp"

namespace pandora {

/// The diagonal of the matrix of ridges: one value for the first feature (the intercept), one for the others (the
/// slopes).
struct Ridges {
  double first = 1.0, others = 1.0;
  Ridges() = default;
  PANDORA_HD constexpr Ridges(double all) : first(all), others(all) {}  // NOLINT: implicit
  PANDORA_HD constexpr Ridges(double of_first, double of_others) : first(of_first), others(of_others) {}

  /// The ridge of feature k.
  PANDORA_HD constexpr double of(int k) const { return k == 0 ? first : others; }
  PANDORA_HD constexpr double least() const { return others < first ? others : first; }
  PANDORA_HD constexpr double greatest() const { return others > first ? others : first; }
};

/// An upper bound on an inverse matrix: diag(first, others, ..., others).
template <class Real>
struct MostInverse {
  Real first, others;

  /// psi' diag(...) psi of a context with ||psi||^2 and its first feature.
  PANDORA_HD Real bound(Real squared_norm, Real intercept) const {
    const Real square = intercept * intercept;
    return fused(first, square, others * (squared_norm - square));
  }
};

/// The bound on the inverses of matrices of at least diag(ridges), with a little slack for rounding.
template <class Real>
PANDORA_HD MostInverse<Real> most_inverse(Ridges ridges) {
  return {static_cast<Real>(1.001 / ridges.first), static_cast<Real>(1.001 / ridges.others)};
}

}  // namespace pandora
