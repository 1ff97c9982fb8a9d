// rho_hat, (eq:known-theta-rho-estimator) and (eq:hat:rho:at), as the fast engine solves for it. A Newton step costs
// n m^2 for its Hessian; here an iteration costs one gradient, n m: a semismooth Newton method whose inverse follows
// the active set by rank-one updates for few samples, preconditioned L-BFGS for many.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "kernels/index_gradient.hpp"
#include "kernels/weighted_inverse.hpp"

namespace pandora {

/// direction = approximate inverse Hessian times gradient.
using Preconditioner = std::function<void(const Eigen::VectorXd& gradient, Eigen::VectorXd& direction)>;

/// Solved when the squared Newton decrement, as the quasi-Newton metric sees it, is below this: an error in the linear
/// index of 1e-3 times the width ||psi||_{H^-1}, which is about its statistical error. Few samples have wide widths
/// and cheap gradients, so there it is 1e-5 times.
inline constexpr double index_tolerance(int n) {
  return n <= 1000 ? 1e-10 : 1e-6;
}

/// The inverse of ridge I + curvature, an m x m matrix with rows of `stride`.
template <class Real>
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge);

/// Moves rho (m) to the minimiser of sum l_s + ridge/2 ||rho||^2 from its value. Returns the number of gradients;
/// throws Error (internal) after 500.
template <class Real>
int solve_index(const SampleView<Real>& samples, double ridge, const Preconditioner& precondition,
                Eigen::VectorXd& rho);

/// The same minimiser by a semismooth Newton method, for few samples: what changes the Hessian there is which samples
/// lie above Lambda(z), one by one, so `inverse` follows it from wherever it starts. Returns the number of gradients.
template <class Real>
int solve_index_by_newton(const SampleView<Real>& samples, double ridge, WeightedInverse<Real>& inverse,
                          Eigen::VectorXd& rho);

/// Up to so many samples the Newton method is the faster one.
inline constexpr int kNewtonSamples = 2000;

}  // namespace pandora
