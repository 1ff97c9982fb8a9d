#include "host/lanes/estimator/index_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <limits>

#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/estimator/reward_fit.hpp"

namespace pandora {
namespace {

constexpr int kStrip = 128;  // samples gathered at once

Eigen::Map<const Eigen::VectorXf> psi_of(const Contexts& contexts, int row) {
  return {contexts.psi_row(row), contexts.index_size};
}

double penalty(Ridges ridges, const Eigen::VectorXd& rho) {
  if (ridges.first == ridges.others) return 0.5 * ridges.first * rho.squaredNorm();
  return 0.5 * (ridges.first * rho[0] * rho[0] + ridges.others * rho.tail(rho.size() - 1).squaredNorm());
}

// Works on samples side by side. The loss is known when this is compiled, so that the loop vectorises.
template <Loss loss>
void moments_of(int n, const double* z, const double* cost, const double* mu, double* moment, double* curvature) {
  PANDORA_SIMD
  for (int k = 0; k < n; ++k) {
    const IndexMoment<double> value = index_moment(loss, z[k], cost[k], mu[k]);
    moment[k] = value.moment;
    curvature[k] = value.curvature;
  }
}

// A Newton step of a fit, to the minimiser of the quadratic model over the ball.
struct Step {
  Eigen::VectorXd direction;
  double slope;      // of the objective along the direction
  double decrement;  // squared: twice the decrease of the model
};

Step newton_step(const Eigen::MatrixXd& hessian, const Eigen::VectorXd& gradient, const Eigen::VectorXd& rho,
                 double radius) {
  if (radius > 0.0) {
    const BallPoint to = minimise_in_ball(hessian, gradient, rho, radius);
    const Eigen::VectorXd direction = to.y - rho;
    // On the sphere the gradient does not vanish, and its product with a direction of rounding errors would be no
    // decrement.
    return {
        direction, gradient.dot(direction),
        direction.dot(hessian.selfadjointView<Eigen::Lower>() * direction) + to.multiplier * direction.squaredNorm()};
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
  const Eigen::VectorXd direction = factor.solve(-gradient);
  const double slope = sound(factor) ? gradient.dot(direction) : std::numeric_limits<double>::quiet_NaN();
  return {direction, slope, -slope};
}

}  // namespace

void IndexSamples::moments(int first, int n, const double* z, double* moment, double* curvature) const {
  const double *const costs = cost.data() + first, *const means = mu.data() + first;
  if (loss == Loss::reservation)
    moments_of<Loss::reservation>(n, z, costs, means, moment, curvature);
  else
    moments_of<Loss::linear_quadratic>(n, z, costs, means, moment, curvature);
  for (int k = 0; !weight.empty() && k < n; ++k) {
    moment[k] *= weight_of(first + k);
    curvature[k] *= weight_of(first + k);
  }
}

Eigen::VectorXd diagonal_of(Ridges ridges, int m) {
  Eigen::VectorXd out = Eigen::VectorXd::Constant(m, ridges.others);
  out[0] = ridges.first;
  return out;
}

double index_objective(const Contexts& contexts, const IndexSamples& samples, Ridges ridges,
                       const Eigen::VectorXd& rho) {
  double sum = penalty(ridges, rho);
  for (int s = 0; s < samples.size(); ++s)
    sum += samples.weight_of(s) * index_loss(psi_of(contexts, samples.rows[s]).cast<double>().dot(rho), samples.cost[s],
                                             samples.mu[s], samples.loss);
  return sum;
}

void index_derivatives(const Contexts& contexts, const IndexSamples& samples, Ridges ridges, const Eigen::VectorXd& rho,
                       Eigen::VectorXd& gradient, Eigen::MatrixXd* hessian, IndexSums* sums) {
  const int m = contexts.index_size;
  const Eigen::VectorXd diagonal = diagonal_of(ridges, m);
  gradient = diagonal.cwiseProduct(rho);
  if (hessian != nullptr) *hessian = diagonal.asDiagonal();
  Eigen::MatrixXd psi(m, kStrip), weighted(m, kStrip);
  Eigen::VectorXd z, moments(kStrip);
  double curvatures[kStrip];
  for (int first = 0; first < samples.size(); first += kStrip) {
    const int n = std::min(kStrip, samples.size() - first);
    for (int k = 0; k < n; ++k) psi.col(k) = psi_of(contexts, samples.rows[first + k]).cast<double>();
    z.noalias() = psi.leftCols(n).transpose() * rho;
    samples.moments(first, n, z.data(), moments.data(), curvatures);
    for (int k = 0; sums != nullptr && k < n; ++k) {
      sums->squares += moments[k] * moments[k] / samples.weight_of(first + k);
      sums->curvature += curvatures[k];
    }
    int active = 0;
    for (int k = 0; hessian != nullptr && k < n; ++k)
      if (curvatures[k] > 0.0) weighted.col(active++) = std::sqrt(curvatures[k]) * psi.col(k);
    gradient.noalias() += psi.leftCols(n) * moments.head(n);
    if (active > 0) hessian->selfadjointView<Eigen::Lower>().rankUpdate(weighted.leftCols(active));
  }
}

void fit_index(const Contexts& contexts, const IndexSamples& samples, Ridges ridges, Eigen::VectorXd& rho,
               double radius) {
  constexpr int kMostSteps = 100;
  pull_into_ball(rho, radius);
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kMostSteps; ++step) {
    index_derivatives(contexts, samples, ridges, rho, gradient, &hessian);
    const auto [direction, slope, decrement] = newton_step(hessian, gradient, rho, radius);
    if (!is_finite(slope)) break;
    if (decrement <= 1e-18 || (decrement <= 1e-12 && decrement >= 0.5 * last)) return;  // the second is rounding
    last = decrement;
    double length = 1.0;
    if (decrement > 1e-9) {  // below that, differences of the objective are lost in rounding and the full step is safe
      const double before = index_objective(contexts, samples, ridges, rho);
      while (index_objective(contexts, samples, ridges, rho + length * direction) > before + 1e-4 * length * slope &&
             length > 1e-10)
        length *= 0.5;
    }
    rho += length * direction;
  }
  throw LaneFailure(Failure::index_fit, fmt::format("the index fit of {} samples did not converge in {} Newton steps",
                                                    samples.size(), kMostSteps));
}

}  // namespace pandora
