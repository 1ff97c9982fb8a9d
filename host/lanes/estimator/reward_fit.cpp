#include "host/lanes/estimator/reward_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "host/lanes/estimator/checks.hpp"
#include "kernels/solve/minimise.hpp"

namespace pandora {
namespace {

using SparseFeatures = Eigen::SparseMatrix<double>;

// The samples as matrices.
template <class Features>
struct RewardProblem {
  Features phi;  // d x n
  Eigen::VectorXd reward, weight;
  double ridge;

  Eigen::MatrixXd weighted_sum(const Eigen::VectorXd& by) const {
    if constexpr (std::is_same_v<Features, Eigen::MatrixXd>) {
      return phi * by.asDiagonal() * phi.transpose();
    } else {
      Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(phi.rows(), phi.rows());
      for (Eigen::Index k = 0; k < phi.cols(); ++k)
        for (typename Features::InnerIterator i(phi, k); i; ++i)
          for (typename Features::InnerIterator j(phi, k); j; ++j)
            sum(j.row(), i.row()) += by[k] * i.value() * j.value();
      return sum;
    }
  }
  Eigen::MatrixXd identity() const { return Eigen::MatrixXd::Identity(phi.rows(), phi.rows()); }
};

// Moves theta to the zero and returns the Hessian there. Throws LaneFailure.
template <class Features>
Eigen::MatrixXd find_zero(const RewardProblem<Features>& problem, Eigen::Map<Eigen::VectorXd>& theta) {
  const Features& phi = problem.phi;
  const double ridge = problem.ridge;
  Eigen::VectorXd z(phi.cols()), g(phi.cols());
  Eigen::MatrixXd hessian;
  for (int step = 0; step < 100; ++step) {
    z.noalias() = phi.transpose() * theta;
    for (Eigen::Index k = 0; k < z.size(); ++k) g[k] = logistic(z[k]);
    hessian = ridge * problem.identity() +
              problem.weighted_sum((g.array() * (1.0 - g.array()) * problem.weight.array()).matrix());
    const Eigen::VectorXd gradient =
        phi * ((g - problem.reward).array() * problem.weight.array()).matrix() + ridge * theta;
    const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
    const Eigen::VectorXd direction = factor.solve(-gradient);
    const double slope = gradient.dot(direction);
    if (!sound(factor) || !is_finite(slope)) break;
    if (-slope <= 1e-18) return hessian;
    double length = 1.0;
    if (-slope > 1e-9) {
      const Eigen::VectorXd dz = phi.transpose() * direction;
      const auto ahead = [&] {  // the objective's derivative at the end of the step
        double sum = ridge * (theta + length * direction).dot(direction);
        for (Eigen::Index k = 0; k < z.size(); ++k)
          sum += problem.weight[k] * (logistic(z[k] + length * dz[k]) - problem.reward[k]) * dz[k];
        return sum;
      };
      while (engine::too_long(slope, ahead()) && length > 1e-10) length *= 0.5;
    }
    theta += length * direction;
  }
  throw LaneFailure(Failure::reward_fit, "the reward fit did not converge in 100 Newton steps");
}

// The residual u of the zero's equation at theta, and the parts of its norm ||u|| in Phi^-1.
struct Residual {
  Eigen::VectorXd g, u, image;  // G(z), u and Phi^-1 u
  double half_square;           // ||u||^2 / 2

  template <class Features>
  Residual(const RewardProblem<Features>& problem, const Eigen::LLT<Eigen::MatrixXd>& design,
           const Eigen::VectorXd& theta)
      : g(problem.phi.transpose() * theta) {
    for (double& each : g) each = logistic(each);
    u = problem.phi * (g - problem.reward).cwiseProduct(problem.weight) + problem.ridge * theta;
    image = design.solve(u);
    half_square = 0.5 * u.dot(image);
  }
};

// Moves theta to the minimiser of ||u|| over the ball, by steps to the minimisers of quadratic models over it. Returns
// the derivative of u there. The models use the second derivatives of the square; where those are not positive
// definite, the Gauss-Newton approximation. Throws LaneFailure.
template <class Features>
Eigen::MatrixXd minimise_residual(const RewardProblem<Features>& problem, double radius,
                                  Eigen::Map<Eigen::VectorXd>& theta) {
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

template <class Features>
void fit(Features phi, const RewardSamples& samples, double ridge, double radius, RewardState& state) {
  const int d = state.d, n = samples.size();
  RewardProblem<Features> problem{std::move(phi), Eigen::Map<const Eigen::VectorXd>(samples.reward.data(), n),
                                  Eigen::VectorXd::Ones(n), ridge};
  if (!samples.weight.empty()) problem.weight = Eigen::Map<const Eigen::VectorXd>(samples.weight.data(), n);
  Eigen::Map<Eigen::VectorXd> theta(state.theta, d);
  Eigen::MatrixXd hessian = find_zero(problem, theta);
  if (radius > 0.0 && theta.norm() > radius) hessian = minimise_residual(problem, radius, theta);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(state.curvature_inverse, d, d, {RewardState::stride(d)}) =
      factorised_or_fail(hessian).solve(Eigen::MatrixXd::Identity(d, d));
}

}  // namespace

void fit_reward(const RewardSamples& samples, double ridge, RewardState& state, double radius) {
  const int d = state.d, n = samples.size();
  if (n == 0) {  // all were forgotten; Eigen divides by 0 without columns
    const std::vector<double> design(state.design_inverse, state.design_inverse + d * RewardState::stride(d));
    state.reset(ridge);
    std::copy(design.begin(), design.end(), state.design_inverse);
    return;
  }
  const auto phi = [&](int k) { return samples.phi.data() + static_cast<std::size_t>(k) * d; };
  const Eigen::Index filled = Eigen::Index{d} * n - std::ranges::count(samples.phi, 0.0f);
  if (2 * filled <= Eigen::Index{d} * n) {  // a cascade's: all are 0 but two numbers of one model
    SparseFeatures sparse(d, n);
    sparse.reserve(filled);
    for (int k = 0; k < n; ++k) {
      sparse.startVec(k);
      for (int i = 0; i < d; ++i)
        if (phi(k)[i] != 0.0f) sparse.insertBack(i, k) = phi(k)[i];
    }
    sparse.finalize();
    return fit(sparse, samples, ridge, radius, state);  // Eigen cannot move it
  }
  Eigen::MatrixXd dense(d, n);
  for (int k = 0; k < n; ++k) dense.col(k) = Eigen::Map<const Eigen::VectorXf>(phi(k), d).cast<double>();
  fit(std::move(dense), samples, ridge, radius, state);
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
    if (chosen == out.multiplier) break;  // two neighbouring doubles
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
