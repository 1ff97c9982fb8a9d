#include "host/index_solver.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <deque>

#include "kernels/error.hpp"
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
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge);

template <class Real>
Preconditioner hessian_at(const SampleView<Real>& samples, double ridge, const Eigen::VectorXd& rho) {
  const int m = samples.m;
  SimdVector<Real> point(static_cast<std::size_t>(samples.stride), Real(0));
  for (int k = 0; k < m; ++k) point[k] = static_cast<Real>(rho[k]);
  SimdVector<Real> hessian(static_cast<std::size_t>(m) * samples.stride, Real(0));
  add_curvature(samples, point.data(), hessian.data());
  return factorised(hessian.data(), m, samples.stride, ridge);
}

template <class Real>
Preconditioner factorised(const Real* curvature, int m, int stride, double ridge) {
  using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  Matrix matrix = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(curvature, m, m, Eigen::OuterStride<>(stride));
  matrix.diagonal().array() += static_cast<Real>(ridge);
  return [factor = Eigen::LLT<Matrix>(matrix)](const Eigen::VectorXd& gradient, Eigen::VectorXd& direction) {
    direction = factor.solve(gradient.cast<Real>()).template cast<double>();
  };
}

template <class Real>
int solve_index(const SampleView<Real>& samples, double ridge, Preconditioner precondition, Eigen::VectorXd& rho) {
  constexpr int kMostGradients = 500;
  constexpr int kPatience = 4;              // iterations before a preconditioner is replaced ...
  constexpr int kAffordableHessian = 2000;  // ... where a Hessian, n m^2, costs little more than they did
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
  gradient_at(rho, gradient);
  for (int iteration = 0; gradients < kMostGradients; ++iteration) {
    if (iteration > 0 && iteration % kPatience == 0 && samples.n <= kAffordableHessian) {
      precondition = hessian_at(samples, ridge, rho);
      pairs.clear();
      last_decrement = 0.0;
    }
    quasi_newton_direction(pairs, precondition, gradient, direction);
    const double slope = gradient.dot(direction);
    const double decrement = -slope;
    if (decrement <= tolerance) return gradients;
    // Convergence is at least linear: where the last rate once more is enough, the step is taken on trust.
    if (decrement < 1e-2 * last_decrement && decrement * decrement <= tolerance * last_decrement) {
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
      if (next_slope <= -0.5 * slope || gradients >= kMostGradients) break;
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
  throw Error(ExitCode::internal,
              fmt::format("the index fit of {} samples did not converge in {} gradients", samples.n, kMostGradients));
}

#define PANDORA_INSTANTIATE(Real)                                                                    \
  template Preconditioner factorised<Real>(const Real*, int, int, double);                           \
  template Preconditioner hessian_at<Real>(const SampleView<Real>&, double, const Eigen::VectorXd&); \
  template int solve_index<Real>(const SampleView<Real>&, double, Preconditioner, Eigen::VectorXd&);
PANDORA_INSTANTIATE(float)
PANDORA_INSTANTIATE(double)
#undef PANDORA_INSTANTIATE

}  // namespace pandora
