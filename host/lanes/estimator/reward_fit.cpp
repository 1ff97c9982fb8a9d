#include "host/lanes/estimator/reward_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "host/lanes/estimator/checks.hpp"

namespace pandora {
namespace {

double negative_log_likelihood(const Eigen::VectorXd& z, const RewardSamples& samples) {
  double sum = 0.0;  // log(1 + e^z) - r z without overflow
  for (Eigen::Index k = 0; k < z.size(); ++k) {
    const double one = std::max(z[k], 0.0) + std::log1p(std::exp(-std::abs(z[k]))) - samples.reward[k] * z[k];
    sum += samples.weight.empty() ? one : samples.weight[k] * one;
  }
  return sum;
}

// The samples as matrices.
struct RewardProblem {
  Eigen::MatrixXd phi;  // d x n
  Eigen::VectorXd reward, weight;
  double ridge;

  Eigen::MatrixXd weighted_sum(const Eigen::VectorXd& by) const { return phi * by.asDiagonal() * phi.transpose(); }
  Eigen::MatrixXd identity() const { return Eigen::MatrixXd::Identity(phi.rows(), phi.rows()); }
};

// theta becomes the zero; returns the Hessian there. Throws LaneFailure.
Eigen::MatrixXd find_zero(const RewardProblem& problem, const RewardSamples& samples,
                          Eigen::Map<Eigen::VectorXd>& theta) {
  const Eigen::MatrixXd& phi = problem.phi;
  const double ridge = problem.ridge;
  Eigen::VectorXd z(phi.cols()), g(phi.cols());
  Eigen::MatrixXd hessian;
  for (int step = 0; step < 100; ++step) {
    z.noalias() = phi.transpose() * theta;
    for (Eigen::Index k = 0; k < z.size(); ++k) g[k] = logistic(z[k]);
    hessian = ridge * problem.identity();
    hessian.noalias() +=
        phi * (g.array() * (1.0 - g.array()) * problem.weight.array()).matrix().asDiagonal() * phi.transpose();
    const Eigen::VectorXd gradient =
        phi * ((g - problem.reward).array() * problem.weight.array()).matrix() + ridge * theta;
    const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
    const Eigen::VectorXd direction = factor.solve(-gradient);
    const double slope = gradient.dot(direction);
    if (!sound(factor) || !is_finite(slope)) break;
    if (-slope <= 1e-18) return hessian;
    double length = 1.0;
    if (-slope > 1e-9) {
      const double before = negative_log_likelihood(z, samples) + 0.5 * ridge * theta.squaredNorm();
      const Eigen::VectorXd dz = phi.transpose() * direction;
      while (negative_log_likelihood(z + length * dz, samples) +
                     0.5 * ridge * (theta + length * direction).squaredNorm() >
                 before + 1e-4 * length * slope &&
             length > 1e-10)
        length *= 0.5;
    }
    theta += length * direction;
  }
  throw LaneFailure(Failure::reward_fit, "the reward fit did not converge in 100 Newton steps");
}

// The residual u of the zero's equation at theta, and what the norm ||u|| in Phi^-1 is made of.
struct Residual {
  Eigen::VectorXd g, u, image;  // G(z), u and Phi^-1 u
  double half_square;           // ||u||^2 / 2

  Residual(const RewardProblem& problem, const Eigen::LLT<Eigen::MatrixXd>& design, const Eigen::VectorXd& theta)
      : g(problem.phi.transpose() * theta) {
    for (double& each : g) each = logistic(each);
    u = problem.phi * (g - problem.reward).cwiseProduct(problem.weight) + problem.ridge * theta;
    image = design.solve(u);
    half_square = 0.5 * u.dot(image);
  }
};

// theta becomes the minimiser of ||u|| over the ball, by steps to the minimisers of quadratic models over it; returns
// the derivative of u there. The models have the second derivatives of the square, or where those are not positive
// definite what Gauss and Newton have of them. Throws LaneFailure.
Eigen::MatrixXd minimise_residual(const RewardProblem& problem, double radius, Eigen::Map<Eigen::VectorXd>& theta) {
  constexpr int kMostSteps = 1000;
  const Eigen::LLT<Eigen::MatrixXd> design =
      factorised_or_fail(Eigen::MatrixXd(problem.ridge * problem.identity() + problem.weighted_sum(problem.weight)));
  pull_into_ball(theta, radius);
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kMostSteps; ++step) {
    const Residual at(problem, design, theta);
    const Eigen::VectorXd slopes = at.g.cwiseProduct(Eigen::VectorXd::Ones(at.g.size()) - at.g);
    Eigen::MatrixXd derivative =
        problem.ridge * problem.identity() + problem.weighted_sum(slopes.cwiseProduct(problem.weight));
    const Eigen::VectorXd bends = slopes.cwiseProduct(Eigen::VectorXd::Ones(at.g.size()) - 2.0 * at.g)
                                      .cwiseProduct(problem.phi.transpose() * at.image);
    const Eigen::MatrixXd first = derivative * design.solve(derivative);
    const Eigen::MatrixXd all = first + problem.weighted_sum(bends.cwiseProduct(problem.weight));
    const Eigen::MatrixXd& model = sound(Eigen::LLT<Eigen::MatrixXd>(all)) ? all : first;
    const BallPoint to = minimise_in_ball(model, derivative * at.image, theta, radius);
    const Eigen::VectorXd direction = to.y - theta;
    const double slope = (derivative * at.image).dot(direction);
    const double decrement = direction.dot(model * direction) + to.multiplier * direction.squaredNorm();
    if (!is_finite(decrement)) break;
    if (decrement <= 1e-18 || (decrement <= 1e-12 && decrement >= 0.5 * last)) return derivative;
    last = decrement;
    double length = 1.0;
    while (decrement > 1e-9 && length > 1e-10 &&
           Residual(problem, design, theta + length * direction).half_square > at.half_square + 1e-4 * length * slope)
      length *= 0.5;
    theta += length * direction;
  }
  throw LaneFailure(Failure::reward_fit, "the reward fit in a ball did not converge in 1000 steps");
}

}  // namespace

void fit_reward(const Tape& tape, const RewardSamples& samples, double ridge, RewardState& state, double radius) {
  const int d = state.d, n = samples.size();
  if (n == 0) {  // all were forgotten; of no columns Eigen divides by 0
    const std::vector<double> design(state.design_inverse, state.design_inverse + d * RewardState::stride(d));
    state.reset(ridge);
    std::copy(design.begin(), design.end(), state.design_inverse);
    return;
  }
  RewardProblem problem{Eigen::MatrixXd(d, n), Eigen::Map<const Eigen::VectorXd>(samples.reward.data(), n),
                        Eigen::VectorXd::Ones(n), ridge};
  for (int k = 0; k < n; ++k)
    problem.phi.col(k) = Eigen::Map<const Eigen::VectorXf>(tape.phi.data() + samples.at[k] * d, d).cast<double>();
  if (!samples.weight.empty()) problem.weight = Eigen::Map<const Eigen::VectorXd>(samples.weight.data(), n);
  Eigen::Map<Eigen::VectorXd> theta(state.theta, d);
  Eigen::MatrixXd hessian = find_zero(problem, samples, theta);
  if (radius > 0.0 && theta.norm() > radius) hessian = minimise_residual(problem, radius, theta);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(state.curvature_inverse, d, d, {RewardState::stride(d)}) =
      factorised_or_fail(hessian).solve(Eigen::MatrixXd::Identity(d, d));
}

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
