#include "host/index_solver.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <deque>

#include "host/checks.hpp"
#include "kernels/block_products.hpp"
#include "kernels/index_loss.hpp"
#include "kernels/rounding_floor.hpp"
#include "kernels/simd.hpp"

namespace pandora {
namespace {

struct Pair {
  Eigen::VectorXd s, y;
  double inverse_curvature;  // 1 / s'y
};

// d = -H g by the two-loop recursion around the preconditioner.
void quasi_newton_direction(const std::deque<Pair>& pairs, const Preconditioner& precondition,
                            const Eigen::VectorXd& gradient, Eigen::VectorXd& direction) {
  Eigen::VectorXd q = gradient;
  std::vector<double> alpha(pairs.size());
  for (std::size_t k = pairs.size(); k-- > 0;) {
    alpha[k] = pairs[k].inverse_curvature * pairs[k].s.dot(q);
    q -= alpha[k] * pairs[k].y;
  }
  precondition(q, direction);
  for (std::size_t k = 0; k < pairs.size(); ++k)
    direction += (alpha[k] - pairs[k].inverse_curvature * pairs[k].y.dot(direction)) * pairs[k].s;
  direction = -direction;
}

}  // namespace

template <class Real>
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge) {
  using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  Matrix matrix = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(curvature, m, m, Eigen::OuterStride<>(stride));
  matrix.diagonal().array() += static_cast<Real>(ridge);
  return [factor = factorised_or_fail(matrix)](const Eigen::VectorXd& gradient, Eigen::VectorXd& direction) {
    direction = factor.solve(gradient.cast<Real>()).template cast<double>();
  };
}

template <class Real>
int solve_index(const SampleView<Real>& samples, double ridge, const Preconditioner& precondition,
                Eigen::VectorXd& rho) {
  constexpr int kMostGradients = 500;
  constexpr std::size_t kMemory = 8;
  const int m = samples.m;
  const double tolerance = index_tolerance(samples.n);
  SimdVector<Real> point(static_cast<std::size_t>(samples.stride), Real(0));
  int gradients = 0;
  const auto gradient_at = [&](const Eigen::VectorXd& at, Eigen::VectorXd& gradient) {
    for (int k = 0; k < m; ++k) point[k] = static_cast<Real>(at[k]);
    index_gradient(samples, point.data(), gradient.data());
    gradient += ridge * at;
    ++gradients;
  };
  Eigen::VectorXd gradient(m), direction(m), next(m), next_gradient(m);
  std::deque<Pair> pairs;
  double last_decrement = 0.0;
  RoundingFloor floor;
  gradient_at(rho, gradient);
  while (gradients < kMostGradients) {
    quasi_newton_direction(pairs, precondition, gradient, direction);
    const double slope = gradient.dot(direction);
    const double decrement = -slope;
    if (!is_finite(decrement)) break;
    if (decrement <= tolerance || floor.reached(decrement)) return gradients;
    // Convergence is at least linear: where the last rate once more is enough twice over, the step is taken on trust.
    if (decrement < 0.1 * last_decrement && 2.0 * decrement * decrement <= tolerance * last_decrement) {
      rho += direction;
      return gradients;
    }
    last_decrement = decrement;
    // The loss is convex, so along the direction only its derivative matters: a step is too long when the derivative
    // has grown well past zero; the secant through both ends then estimates where it vanishes.
    double step = 1.0;
    for (;;) {
      next = rho + step * direction;
      gradient_at(next, next_gradient);
      const double next_slope = next_gradient.dot(direction);
      if (!(next_slope > -0.5 * slope) || gradients >= kMostGradients) break;
      step *= std::clamp(slope / (slope - next_slope), 0.1, 0.9);
    }
    Pair pair{next - rho, next_gradient - gradient, 0.0};
    const double curvature = pair.s.dot(pair.y);
    rho.swap(next);
    gradient.swap(next_gradient);
    if (curvature <= 0.0) continue;  // only rounding can do this: the loss is strongly convex
    pair.inverse_curvature = 1.0 / curvature;
    pairs.push_back(std::move(pair));
    if (pairs.size() > kMemory) pairs.pop_front();
  }
  throw LaneFailure(Failure::index_fit, fmt::format("the index fit of {} samples did not converge in {} gradients",
                                                    samples.n, kMostGradients));
}

template <class Real>
int solve_index_by_newton(const SampleView<Real>& samples, double ridge, WeightedInverse<Real>& inverse,
                          Eigen::VectorXd& rho) {
  constexpr int kMostGradients = 500;
  constexpr Real kChange = Real(0.05);  // smaller changes of a weight (at most 1) slow convergence only a little
  const int m = samples.m, stride = samples.stride;
  const double tolerance = index_tolerance(samples.n);
  SimdVector<Real> point(static_cast<std::size_t>(stride), Real(0)), image(point);
  std::vector<Real> weight(static_cast<std::size_t>(samples.n));
  Eigen::VectorXd gradient(m), direction(m);
  RoundingFloor floor;
  int gradients = 0;
  const auto evaluate = [&] {
    for (int k = 0; k < m; ++k) point[k] = static_cast<Real>(rho[k]);
    index_gradient(samples, point.data(), gradient.data(), weight.data());
    gradient += ridge * rho;
    ++gradients;
  };
  evaluate();
  while (gradients < kMostGradients) {
    inverse.follow(samples, weight, kChange);
    for (int k = 0; k < m; ++k) point[k] = static_cast<Real>(gradient[k]);
    const Real* g = point.data();
    form_images(inverse.matrix.data(), m, stride, &g, 1, image.data());
    for (int k = 0; k < m; ++k) direction[k] = -static_cast<double>(image[k]);
    const double slope = gradient.dot(direction);
    if (!(slope <= 0.0)) {  // the inverse has been lost to rounding (a tiny ridge)
      if (!gradient.allFinite()) break;
      inverse.reset(m, stride, ridge, samples.n);
      ++gradients;
      continue;
    }
    if (!is_finite(slope)) break;
    rho += direction;
    if (-slope <= tolerance || floor.reached(-slope)) return gradients;
    evaluate();
    // Convex along the direction: a step is too long where the derivative has grown well past zero.
    for (double step = 1.0; gradient.dot(direction) > -0.5 * slope && gradients < kMostGradients; evaluate()) {
      const double next = step * std::clamp(slope / (slope - gradient.dot(direction)), 0.1, 0.9);
      rho += (next - step) * direction;
      step = next;
    }
  }
  throw LaneFailure(Failure::index_fit, fmt::format("the index fit of {} samples did not converge in {} gradients",
                                                    samples.n, kMostGradients));
}

#define PANDORA_INSTANTIATE(Real)                                                                                      \
  template Preconditioner factorised<Real>(const Real*, int, int, double);                                             \
  template int solve_index_by_newton<Real>(const SampleView<Real>&, double, WeightedInverse<Real>&, Eigen::VectorXd&); \
  template int solve_index<Real>(const SampleView<Real>&, double, const Preconditioner&, Eigen::VectorXd&);
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
