// The index loss of one queried sample (eq:known-theta--loss), (eq:plugin:loss), with Lambda = tanh, or the identity
// under Loss::linear_quadratic:
//   l(z) = int_0^z [c - (mu - Lambda(u))^+] du,   z = rho' psi(x_s),
// where mu is mu*(x_s, omega_s) or its plug-in G(theta_hat' phi_s).
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/base/elementary.hpp"
#include "kernels/rules/spec.hpp"

namespace pandora {

/// First and second derivative of l at z; the gradient in rho is moment * psi (eq:known-theta-loss-gradient).
template <class Real>
struct IndexMoment {
  Real moment;     ///< m(z) = c - (mu - Lambda(z))^+, (eq:known-theta-moment-function)
  Real curvature;  ///< Lambda'(z) 1{mu > Lambda(z)}
};

template <class Real, class Fma = Fused>
PANDORA_HD PANDORA_INLINE IndexMoment<Real> index_moment(Loss loss, Real z, Real cost, Real mu, Fma&& fused = Fma()) {
  const Real link = loss == Loss::reservation ? index_link(z, fused) : z;
  const Real gap = mu - link;
  // In this order a NaN in mu reaches the gradient, where it is detected.
  const Real slope = loss == Loss::reservation ? index_link_slope(link) : Real(1);
  return {gap <= Real(0) ? cost : cost - gap, gap <= Real(0) ? Real(0) : slope};
}

/// The paper's loss.
template <class Real>
PANDORA_HD PANDORA_INLINE IndexMoment<Real> index_moment(Real z, Real cost, Real mu) {
  return index_moment(Loss::reservation, z, cost, mu);
}

/// rho_hat counts as solved when the squared Newton decrement is below this. That is an error in the linear index of
/// 1e-3 times the width ||psi||_{H^-1}, which is about its statistical error. With few samples widths are large and
/// gradients cheap, so there it is 1e-5 times the width. Widths grow without bound as the ridge shrinks if the samples
/// say nothing; below a ridge of 0.01 the tolerance shrinks with it, so that scores keep their digits.
PANDORA_HD inline constexpr double index_tolerance(int n, double ridge) {
  return (n <= 1000 ? 1e-10 : 1e-6) * (ridge < 0.01 ? 100.0 * ridge : 1.0);
}

/// l(z) in closed form. Up to z* = atanh(mu) the integral of mu - tanh is mu z - log cosh z; beyond z* only c remains
/// of the bracket. With the identity as link the loss is c z + ((mu - z)_+^2 - mu^2) / 2.
inline double index_loss(double z, double cost, double mu, Loss loss = Loss::reservation) {
  if (loss == Loss::linear_quadratic) return cost * z + 0.5 * (std::pow(std::max(mu - z, 0.0), 2) - mu * mu);
  const double stop = std::min(z, std::atanh(mu));
  const double magnitude = std::abs(stop);  // log cosh without overflow
  const double log_cosh = magnitude + std::log1p(std::exp(-2.0 * magnitude)) - std::log(2.0);
  return cost * z - (mu * stop - log_cosh);
}

}  // namespace pandora
