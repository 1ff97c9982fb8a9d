// Steps of a fit that is confined to a ball around 0.
#pragma once

#include <Eigen/Core>

namespace pandora {

/// Where a model of the objective is least in the ball, and the multiplier of |y| <= radius there (0 inside).
struct BallPoint {
  Eigen::VectorXd y;
  double multiplier = 0.0;
};

/// The y with |y| <= radius that minimises gradient' (y - at) + (y - at)' hessian (y - at) / 2. hessian: its lower
/// triangle, positive definite. On the sphere it is the minimiser with a larger ridge on all coordinates, the
/// multiplier, which a safeguarded Newton iteration on 1/radius - 1/|y| finds. Throws LaneFailure if the Hessian is not
/// positive definite or a number is not finite.
BallPoint minimise_in_ball(const Eigen::MatrixXd& hessian, const Eigen::VectorXd& gradient, const Eigen::VectorXd& at,
                           double radius);

/// Scales x back into the ball; a radius of 0 stands for none.
void pull_into_ball(Eigen::Ref<Eigen::VectorXd> x, double radius);

/// Whether x lies on the sphere, up to rounding, or outside; never with a radius of 0.
bool reaches_sphere(const Eigen::Ref<const Eigen::VectorXd>& x, double radius);

}  // namespace pandora
