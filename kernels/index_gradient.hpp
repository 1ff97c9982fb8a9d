// Sums over a box's samples at a given rho: the gradient of the index loss and the curvature, in one fused pass over
// the contexts of the tape.
#pragma once

#include <cstddef>

namespace pandora {

/// The samples: `rows` into contexts of `stride` elements at `psi`, with costs and (plug-in) rewards.
template <class Real>
struct SampleView {
  const Real* psi;
  int m, stride;
  const int* rows;
  const Real* cost;
  const Real* mu;
  int n;
};

/// gradient (m, double) = sum_s psi_s m_s(z_s) (eq:known-theta-loss-gradient), without the ridge term; and, where asked
/// for, every sample's curvature h_s.
template <class Real>
void index_gradient(const SampleView<Real>& samples, const Real* rho, double* gradient, Real* curvature = nullptr);

/// C += sum_s h_s psi_s psi_s' with h_s = Lambda'(z_s) 1{mu_s > Lambda(z_s)} at rho; C is m x m in full, rows of
/// `stride`. Where asked for, every h_s.
template <class Real>
void add_curvature(const SampleView<Real>& samples, const Real* rho, Real* C, Real* weight = nullptr);

}  // namespace pandora
