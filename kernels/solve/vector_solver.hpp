// How the CPU computes rho_hat and fresh inverses: dense algebra by Eigen, and descents whose iterations cost one
// gradient, n m, where a new Hessian would cost n m^2. Host code only.
//
// Up to kNewtonSamples samples, the Hessian changes between iterations only by which samples lie above Lambda(z), a few
// at a time. An inverse follows these changes by rank-one updates, from wherever the last solve left it. Above, the
// method is L-BFGS around Hinv, or around a running sum of curvatures in which a sample keeps the weight from the first
// solve with it.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <deque>
#include <vector>

#include "kernels/base/vector_team.hpp"
#include "kernels/products/tiles.hpp"
#include "kernels/solve/index_sums.hpp"
#include "kernels/solve/samples.hpp"
#include "kernels/solve/solver.hpp"

namespace pandora::engine {

/// A view of (diag(ridges) + sum w_s psi_s psi_s')^-1, m x m in full with rows of `stride`, and of the weights w_s in
/// it.
template <class Real>
struct FollowedInverse {
  Real* matrix;
  Real* weight;  ///< one per sample
  int m, stride;
  int capacity;  ///< weights that there is room for

  /// Removes all samples: diag(1 / ridges), and weights of 0.
  void reset(Ridges ridges);

  /// Moves to new weights by rank-one updates, in batches. Changes below `least` are left out. So is a decrease that
  /// rounding would decide, which happens with almost no ridge. It then returns false, and the matrix is the inverse
  /// for the weights in `weight`.
  bool follow(const SampleView<Real>& samples, const Real* target, Real least);

 private:
  bool apply(const SampleView<Real>& samples, const Real* target, const int* changed, int count);
};

/// C += sum_s w_s psi_s psi_s'; C is m x m in full, rows of `stride`. Without weights all are 1.
template <class Real, class Sum>
void add_outer(const SampleView<Real>& samples, const Real* weight, Sum* C);

/// Up to this many samples the followed inverse is faster.
inline constexpr int kNewtonSamples = 2000;

/// Whether a Cholesky factorisation succeeded. LLT::info() alone reports success for NaN; a number that is not finite
/// anywhere in the lower triangle reaches the factor's diagonal.
template <class Matrix>
bool is_factor(const Eigen::LLT<Matrix>& factor) {
  return factor.info() == Eigen::Success && factor.matrixLLT().diagonal().allFinite();
}

template <class Real>
using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using PaddedMatrix = Eigen::Map<const RowMajor<Real>, 0, Eigen::OuterStride<>>;

/// Like TeamFactor.
template <class Real>
class VectorFactor {
 public:
  VectorFactor(const VectorTeam&, const SampleView<Real>& samples, const SolveScratch<Real>& scratch)
      : samples_(samples), scratch_(scratch) {}

  template <class Sum>
  bool factorise(Ridges ridge, bool weighted) {
    Eigen::MatrixXd matrix(samples_.m, samples_.m);
    sum<Sum>(0.0, weighted, matrix.data());
    for (int k = 0; k < samples_.m; ++k) matrix(k, k) += ridge.of(k);
    factor_.compute(matrix);
    return is_factor(factor_);
  }
  template <class Sum>
  void sum(Ridges ridge, bool weighted, double* out) const {
    const int m = samples_.m, stride = samples_.stride;
    SimdVector<Sum> C(static_cast<std::size_t>(m) * stride, Sum(0));
    add_outer(samples_, weighted ? scratch_.weight : samples_.weight, C.data());
    Eigen::Map<RowMajor<double>> matrix(out, m, m);
    matrix = PaddedMatrix<Sum>(C.data(), m, m, Eigen::OuterStride<>(stride)).template cast<double>();
    matrix.diagonal().array() += ridge.others;
    matrix(0, 0) += ridge.first - ridge.others;
  }
  void solve(double* x) const {
    Eigen::Map<Eigen::VectorXd> vector(x, samples_.m);
    factor_.solveInPlace(vector);
  }
  void invert() const {
    const int m = samples_.m;
    Eigen::Map<RowMajor<double>>(scratch_.inverse, m, m) = factor_.solve(Eigen::MatrixXd::Identity(m, m));
  }

 private:
  const SampleView<Real>& samples_;
  const SolveScratch<Real>& scratch_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

/// Semismooth Newton steps with an inverse that follows the active set.
template <class Real>
class FollowingNewton {
 public:
  static constexpr bool kLastStep = true, kTrustsRate = false;

  FollowingNewton(IndexSums<Real, VectorTeam>& sums, FollowedInverse<Real>& inverse)
      : sums_(sums), inverse_(inverse), image_(static_cast<std::size_t>(sums.samples().stride)) {}

  bool direct() {
    constexpr Real kChange = Real(0.05);  // smaller changes of a weight (at most 1) slow convergence only a little
    const SolveScratch<Real>& scratch = sums_.scratch();
    const int m = sums_.samples().m;
    // With almost no ridge, a weight that stays in the inverse hides a direction in which the loss has no curvature.
    // Steps and decrements along it would be small far from the minimum.
    constexpr double kNextToNone = 0.01;
    if (!inverse_.follow(sums_.samples(), scratch.weight, kChange) && sums_.ridges().least() < kNextToNone)
      return false;
    for (int k = 0; k < m; ++k) scratch.point[k] = static_cast<Real>(scratch.gradient[k]);
    form_images(inverse_.matrix, m, sums_.samples().stride, &scratch.point, 1, image_.data());
    for (int k = 0; k < m; ++k) scratch.direction[k] = -static_cast<double>(image_[k]);
    return true;
  }
  // Rounding has ruined the inverse (a tiny ridge).
  bool recover() {
    for (int k = 0; k < sums_.samples().m; ++k)
      if (!is_finite(sums_.scratch().gradient[k])) return false;
    inverse_.reset(sums_.ridges());
    return true;
  }
  void stepped(double, double, double) {}

 private:
  IndexSums<Real, VectorTeam>& sums_;
  FollowedInverse<Real>& inverse_;
  SimdVector<Real> image_;
};

/// L-BFGS around a preconditioner: `precondition(x)` multiplies x (m) by an approximate inverse Hessian, in place.
template <class Real, class Precondition>
class QuasiNewton {
 public:
  static constexpr bool kLastStep = false, kTrustsRate = true;

  QuasiNewton(IndexSums<Real, VectorTeam>& sums, Precondition precondition)
      : sums_(sums), precondition_(std::move(precondition)), m_(sums.samples().m) {}

  // The two-loop recursion.
  bool direct() {
    const Eigen::Map<const Eigen::VectorXd> gradient(sums_.scratch().gradient, m_);
    Eigen::Map<Eigen::VectorXd> direction(sums_.scratch().direction, m_);
    gradient_ = gradient;
    direction = gradient;
    std::vector<double> alpha(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      alpha[k] = pairs_[k].inverse_curvature * pairs_[k].s.dot(direction);
      direction -= alpha[k] * pairs_[k].y;
    }
    precondition_(sums_.scratch().direction);
    for (std::size_t k = 0; k < pairs_.size(); ++k)
      direction += (alpha[k] - pairs_[k].inverse_curvature * pairs_[k].y.dot(direction)) * pairs_[k].s;
    direction = -direction;
    return true;
  }
  bool recover() { return false; }
  void stepped(double, double, double part) {
    constexpr std::size_t kMemory = 8;
    const Eigen::Map<const Eigen::VectorXd> gradient(sums_.scratch().gradient, m_);
    const Eigen::Map<const Eigen::VectorXd> direction(sums_.scratch().direction, m_);
    Pair pair{part * direction, gradient - gradient_, 0.0};
    const double curvature = pair.s.dot(pair.y);
    if (curvature <= 0.0) return;  // only rounding can cause this, since the loss is strongly convex
    pair.inverse_curvature = 1.0 / curvature;
    pairs_.push_back(std::move(pair));
    if (pairs_.size() > kMemory) pairs_.pop_front();
  }

 private:
  struct Pair {
    Eigen::VectorXd s, y;
    double inverse_curvature;  // 1 / s'y
  };
  IndexSums<Real, VectorTeam>& sums_;
  Precondition precondition_;
  const int m_;
  Eigen::VectorXd gradient_;
  std::deque<Pair> pairs_;
};

/// Multiplies x in place by the current inverse P - U U' of a block; all updates must be materialised.
template <class Real>
void multiply_current(const GramView<Real>& g, const Shape& shape, const SolveScratch<Real>& scratch, double* x) {
  const int m = shape.m, stride = shape.stride;
  Real* const in = scratch.point;
  SimdVector<Real> out(static_cast<std::size_t>(stride), Real(0));
  for (int k = 0; k < m; ++k) in[k] = static_cast<Real>(x[k]);
  form_images(g.P, m, stride, &in, 1, out.data());
  for (int q = 0; q < g.count->columns; ++q) {
    const Real* u = g.u + static_cast<std::size_t>(q) * stride;
    add_multiple(out.data(), u, -padded_dot(u, in, stride), stride);
  }
  for (int k = 0; k < m; ++k) x[k] = static_cast<double>(out[k]);
}

/// One thread with vectors. See Solver (kernels/solve/solver.hpp).
template <class Real>
class Solver<Real, VectorTeam> {
 public:
  using Factor = VectorFactor<Real>;

  Solver(const VectorTeam& team, const SampleView<Real>& samples, const Ridges& ridges,
         const SolveScratch<Real>& scratch, const BoxView<Real>&)
      : sums_(team, samples, &ridges, scratch) {}

  bool minimise_loss(const BoxView<Real>& box, const Shape& shape, bool current_inverse) {
    sums_.start(box.rho);
    const bool solved = sums_.samples().n <= kNewtonSamples ? follow(box, shape)
                        : current_inverse
                            ? descend([&](double* x) { multiply_current(box.curvature, shape, scratch(), x); })
                            : descend_by_running_hessian(box, shape);
    if (!solved) box.progress->follows = 0;
    return solved;
  }
  const double* rho() const { return scratch().rho; }
  int gradients() const { return sums_.gradients(); }

 private:
  const SolveScratch<Real>& scratch() const { return sums_.scratch(); }

  bool follow(const BoxView<Real>& box, const Shape& shape) {
    FollowedInverse<Real> inverse{box.inverse, box.inverse_weight, shape.m, shape.stride,
                                  std::min(shape.capacity, kNewtonSamples)};
    if (box.progress->follows == 0) inverse.reset(sums_.ridges());
    box.progress->follows = 1;
    return minimise(sums_, FollowingNewton<Real>(sums_, inverse));
  }

  template <class Precondition>
  bool descend(Precondition&& precondition) {
    return minimise(sums_, QuasiNewton<Real, Precondition>(sums_, precondition));
  }

  // Adds the new samples to the Hessian with their current weights.
  bool descend_by_running_hessian(const BoxView<Real>& box, const Shape& shape) {
    SampleView<Real> fresh = sums_.samples();
    const int known = box.progress->samples_in_hessian, m = shape.m;
    fresh.rows += known;
    fresh.cost += known;
    fresh.mu += known;
    if (fresh.weight != nullptr) fresh.weight += known;
    fresh.n -= known;
    index_gradient(fresh, box.rho, scratch().direction, scratch().weight);
    add_outer(fresh, scratch().weight, box.hessian);
    box.progress->samples_in_hessian = sums_.samples().n;
    Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic> hessian =
        PaddedMatrix<Real>(box.hessian, m, m, Eigen::OuterStride<>(shape.stride));
    for (int k = 0; k < m; ++k) hessian(k, k) += static_cast<Real>(sums_.ridges().of(k));
    const Eigen::LLT<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>> factor(hessian);
    return is_factor(factor) && descend([&](double* x) {
             Eigen::Map<Eigen::VectorXd> vector(x, m);
             vector = factor.solve(vector.template cast<Real>()).template cast<double>();
           });
  }

  IndexSums<Real, VectorTeam> sums_;
};

}  // namespace pandora::engine
