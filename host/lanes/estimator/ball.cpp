#include "host/lanes/estimator/ball.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "host/lanes/estimator/checks.hpp"

namespace pandora {

using Eigen::MatrixXd;
using Eigen::VectorXd;

BallPoint minimise_in_ball(const MatrixXd& hessian, const VectorXd& gradient, const VectorXd& at, double radius) {
  constexpr int kMostSteps = 200;
  const VectorXd right = hessian.selfadjointView<Eigen::Lower>() * at - gradient;
  finite_or_fail(right.sum());
  BallPoint out;
  double low = 0.0, high = right.norm() / radius;  // |y| <= |right| / multiplier
  for (int step = 0; step < kMostSteps; ++step) {
    MatrixXd shifted = hessian;
    shifted.diagonal().array() += out.multiplier;
    const Eigen::LLT<MatrixXd> factor = factorised_or_fail(shifted);
    out.y = factor.solve(right);
    const double length = finite_or_fail(out.y.norm());
    if (out.multiplier == 0.0 && length <= radius) return out;
    if (std::abs(length - radius) <= 1e-14 * radius) break;
    (length > radius ? low : high) = out.multiplier;
    if (!(high > low)) break;
    // The derivative of |y| with the multiplier is -y' (H + multiplier)^-1 y / |y|.
    const double next =
        out.multiplier + (length - radius) / radius * length * length / out.y.dot(factor.solve(out.y).eval());
    const double middle = 0.5 * (low + high);
    const double chosen = next > low && next < high ? next : middle;
    if (chosen == out.multiplier) break;  // two doubles side by side
    out.multiplier = chosen;
  }
  pull_into_ball(out.y, radius);
  return out;
}

void pull_into_ball(Eigen::Ref<VectorXd> x, double radius) {
  if (const double length = x.norm(); radius > 0.0 && length > radius) x *= radius / length;
}

bool reaches_sphere(const Eigen::Ref<const VectorXd>& x, double radius) {
  return radius > 0.0 && x.norm() >= radius * (1.0 - 1e-9);
}

}  // namespace pandora
