// An inverse that follows the weights of its samples: what the Newton solves of few samples work with. Host code only.
#pragma once

#include "kernels/solve/samples.hpp"

namespace pandora::engine {

/// A view of (diag(ridges) + sum w_s psi_s psi_s')^-1, m x m in full with rows of `stride`, and the weights w_s that
/// are in it.
template <class Real>
struct FollowedInverse {
  Real* matrix;
  Real* weight;  ///< one per sample
  int m, stride;
  int capacity;  ///< weights that there is room for

  /// Back to no sample in it: diag(1 / ridges), and weights of 0.
  void reset(Ridges ridges);

  /// Takes over new weights by rank-one updates, batched. Changes below `least` are left out, and so is a decrease that
  /// rounding would decide, as with next to no ridge: then it returns false, and the matrix stays the inverse for the
  /// weights that stand in `weight`.
  bool follow(const SampleView<Real>& samples, const Real* target, Real least);

 private:
  bool apply(const SampleView<Real>& samples, const Real* target, const int* changed, int count);
};

}  // namespace pandora::engine
