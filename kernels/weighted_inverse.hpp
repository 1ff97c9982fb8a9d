// An inverse that follows the weights of its samples: what the Newton solves of few samples work with.
#pragma once

#include <vector>

#include "kernels/index_gradient.hpp"
#include "kernels/simd.hpp"

namespace pandora {

/// matrix = I / ridge, m x m with rows of `stride`: the inverse before any sample.
template <class Real>
void reset_inverse(SimdVector<Real>& matrix, int m, int stride, double ridge);

/// (ridge I + sum w_s psi_s psi_s')^-1, m x m in full with rows of `stride`, and the weights w_s that are in it.
template <class Real>
struct WeightedInverse {
  SimdVector<Real> matrix;   ///< empty before the first reset
  std::vector<Real> weight;  ///< one per sample

  /// Back to no sample in it: I / ridge, and n weights of 0.
  void reset(int m, int stride, double ridge, int n);

  /// Takes over the new weights by rank-one updates, batched. Changes below `least` are left out, and so is a decrease
  /// that rounding would decide: the matrix stays the inverse for the weights that stand in `weight`.
  void follow(const SampleView<Real>& samples, const std::vector<Real>& target, Real least);

 private:
  void apply(const SampleView<Real>& samples, const std::vector<Real>& target, const int* changed, int count);
};

}  // namespace pandora
