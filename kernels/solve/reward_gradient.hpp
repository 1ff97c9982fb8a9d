// Sums over a lane's deployed samples at a given theta, in single precision with double totals. Host code only; teams
// without vectors sum in double (kernels/solve/reward_solve.hpp).
#pragma once

#include "kernels/solve/reward_table.hpp"

namespace pandora::engine {

/// Derivatives behind (eq:hat:theta:def) over the first n samples: gradient (d) = sum_k (G(theta' phi_k) - r_k) phi_k;
/// hessian (d x d, lower triangle) = sum_k G' phi_k phi_k'.
void reward_derivatives(const RewardTable& samples, int n, const double* theta, double* gradient, double* hessian);

}  // namespace pandora::engine
