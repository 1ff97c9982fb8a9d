// rho_hat, (eq:known-theta-rho-estimator) and (eq:hat:rho:at), as the fast engine solves for it. A Newton step costs
// n m^2 for its Hessian; here an iteration costs one gradient, n m: a semismooth Newton method whose inverse follows
// the active set by rank-one updates for few samples, preconditioned L-BFGS for many.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "kernels/index_gradient.hpp"
#include "kernels/simd.hpp"

namespace pandora {

/// direction = approximate inverse Hessian times gradient.
using Preconditioner = std::function<void(const Eigen::VectorXd& gradient, Eigen::VectorXd& direction)>;

/// Solved when the squared Newton decrement, as the quasi-Newton metric sees it, is below this: an error in the linear
/// index of 3e-4 times the width ||psi||_{H^-1}, which is about its statistical error. Few samples have wide widths
/// and cheap gradients, so there it is 1e-5 times.
inline constexpr double index_tolerance(int n) {
  return n <= 1000 ? 1e-10 : 1e-7;
}

/// The inverse of ridge I + curvature, an m x m matrix with rows of `stride`.
template <class Real>
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge);

/// The inverse of ridge I + sum h_s psi_s psi_s' at rho.
template <class Real>
Preconditioner hessian_at(const SampleView<Real>& samples, double ridge, const Eigen::VectorXd& rho);

/// Moves rho (m) to the minimiser of sum l_s + ridge/2 ||rho||^2 from its value. Where `precondition` does not lead
/// there in a few iterations (few samples: many of them cross Lambda(z) = mu on the way), fresh Hessians replace it.
/// Returns the number of gradients; throws Error (internal) after 500.
template <class Real>
int solve_index(const SampleView<Real>& samples, double ridge, Preconditioner precondition, Eigen::VectorXd& rho);

/// An inverse (ridge I + sum w_s psi_s psi_s')^-1 (m x m in full, rows of `stride`) and the weights that are in it.
template <class Real>
struct WeightedInverse {
  SimdVector<Real> matrix;
  std::vector<Real> weight;  ///< n
};

/// matrix = I / ridge, m x m with rows of `stride`: the inverse before any sample.
template <class Real>
void reset_inverse(SimdVector<Real>& matrix, int m, int stride, double ridge) {
  matrix.assign(static_cast<std::size_t>(m) * stride, Real(0));
  for (int k = 0; k < m; ++k) matrix[static_cast<std::size_t>(k) * stride + k] = static_cast<Real>(1.0 / ridge);
}

/// The same minimiser by a semismooth Newton method, for few samples: what changes the Hessian there is which samples
/// lie above Lambda(z), one by one, so `inverse` follows it by rank-one updates from wherever it starts (weights 0 and
/// I / ridge will do). Returns the number of gradients.
template <class Real>
int solve_index_by_newton(const SampleView<Real>& samples, double ridge, WeightedInverse<Real>& inverse,
                          Eigen::VectorXd& rho);

/// Up to so many samples the Newton method is the faster one.
inline constexpr int kNewtonSamples = 500;

}  // namespace pandora
