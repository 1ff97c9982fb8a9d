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

/// The inverse of ridge I + curvature, an m x m matrix with rows of `stride`. Throws LaneFailure if it is not positive
/// definite.
template <class Real>
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge);

/// Moves rho (m) to the minimiser of sum l_s + ridge/2 ||rho||^2 from its value. Returns the number of gradients;
/// throws LaneFailure after 500 or where one is not finite.
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
