// A refit of all boxes of a lane together: Newton steps on the objective of kernels/rules/shrinkage.hpp, whose Hessian
// is D - delta E E' with D one block per box, E the boxes' slopes on top of each other and delta = (lambda_d -
// lambda_m) / A. With B_a = D_a^-1, U_a its columns of slopes and W = sum_a B_a[slopes, slopes],
//
//   S = delta (I - delta W)^-1,   C_ab = B_a 1{a = b} + U_a S U_b'.
#pragma once

#include "kernels/rules/shrinkage.hpp"
#include "kernels/solve/box_solve.hpp"
#include "kernels/solve/joint_algebra.hpp"

namespace pandora::engine {

template <class Real, class Team>
class JointSolve {
 public:
  PANDORA_HD JointSolve(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane,
                        const SolveScratch<Real>& scratch)
      : team_(team),
        problem_(problem),
        shape_(problem.shape),
        lane_(lane),
        state_(*lane.joint),
        scratch_(scratch),
        A_(problem.shape.A),
        m_(problem.shape.m),
        n_(m_ - 1) {}

  /// Takes the steps; rho_hat, ridges, dispersions and, where the lane keeps it, C_aa are then those of its samples.
  /// False if a matrix is not positive definite or a number is not finite.
  PANDORA_APART PANDORA_HD bool solve() {
    for (int a = 0; a < A_; ++a)
      for (int k = team_.rank(); k < m_; k += team_.size()) rho(a)[k] = static_cast<double>(lane_.box[a].rho[k]);
    sum_slopes();
    measure_features();
    for (int step = 1;; ++step) {
      for (int a = 0; a < A_; ++a)
        if (!open_box(a)) return false;
      if (!form_coupling()) return false;
      point_downhill();
      const double slope = slope_now();
      if (!is_finite(slope)) return false;
      const bool last = step == lane_.spec.joint_steps || -slope <= lane_.spec.joint_tolerance;
      SlopeSums sums = sum_covariances(last && lane_.needs.curvature);
      double part = 1.0;
      move(1.0);
      for (int tries = 0; tries < kMostTries; ++tries) {
        const double ahead = slope_ahead();
        if (!too_long(slope, ahead)) break;
        const double next = part * secant_part(slope, ahead);
        move(next - part);
        part = next;
      }
      learn(sums);
      if (last) break;
    }
    for (int a = 0; a < A_; ++a) take(a);
    if (team_.rank() == 0) {
      state_.samples_at_solve = state_.samples;
      lane_.progress->joint_due = 0;
      add_to(&lane_.progress->index_solves, 1);
      add_to(&lane_.progress->index_gradients, gradients_);
    }
    team_.sync();
    return true;
  }

  /// Doubles that it works in.
  static PANDORA_HD std::size_t size(int A, int m) {
    return (static_cast<std::size_t>(A) + 3) * m * m +
           (3 * static_cast<std::size_t>(A) + kVectors) * SolveScratch<Real>::padded(m);
  }

 private:
  static constexpr int kMostTries = 30, kVectors = 7;
  static_assert(SolveScratch<Real>::padded(1) >= kMaxBoxes);  // a number of every box fits

  PANDORA_HD double* matrix(int which) const { return scratch_.joint + static_cast<std::size_t>(which) * m_ * m_; }
  PANDORA_HD double* vector(int which) const {
    return matrix(A_ + 3) + static_cast<std::size_t>(which) * SolveScratch<Real>::padded(m_);
  }
  PANDORA_HD Rows box_matrix(int a) const { return {matrix(a), m_}; }     // B_a; in the end C_aa
  PANDORA_HD Rows slopes_of(int a) const { return {matrix(a) + 1, m_}; }  // U_a, m x n
  PANDORA_HD Rows shared() const { return {matrix(A_), m_}; }             // W, n x n; in the end a C_aa
  PANDORA_HD Rows coupling() const { return {matrix(A_ + 1), n_}; }       // (I - delta W)^-1, n x n
  PANDORA_HD Rows product() const { return {matrix(A_ + 2), n_}; }        // m x n
  PANDORA_HD double* rho(int a) const { return vector(a); }
  PANDORA_HD double* gradient(int a) const { return vector(A_ + a); }
  PANDORA_HD double* direction(int a) const { return vector(2 * A_ + a); }
  PANDORA_HD double* slope_sum() const { return vector(3 * A_); }  // sum_a rho_a
  PANDORA_HD double* line() const { return vector(3 * A_ + 1); }
  PANDORA_HD double* shift() const { return vector(3 * A_ + 2); }
  PANDORA_HD double* terms() const { return vector(3 * A_ + 3); }
  // One of every box:
  PANDORA_HD double* moment_squares() const { return vector(3 * A_ + 4); }
  PANDORA_HD double* curvature() const { return vector(3 * A_ + 5); }
  PANDORA_HD double* determined() const { return vector(3 * A_ + 6); }

  PANDORA_HD double delta() const { return (state_.ridge_own - state_.ridge_mean) / A_; }

  // f(0) + ... + f(n - 1), the same in every member.
  template <class Term>
  PANDORA_HD double sum_of(int n, Term&& term) const {
    for (int i = team_.rank(); i < n; i += team_.size()) terms()[i] = term(i);
    team_.sync();
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += terms()[i];
    team_.sync();
    return sum;
  }

  PANDORA_HD void sum_slopes() const {
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum += rho(a)[k];
      slope_sum()[k] = sum;
    }
    team_.sync();
  }

  // The scale of the features, from the samples that are new since the last solve.
  PANDORA_HD void measure_features() const {
    using V = typename Team::template Vectors<Real>;
    double squares = 0.0;
    for (int a = 0; a < A_; ++a) {
      const BoxView<Real>& box = lane_.box[a];
      for_tiles<Real>(team_, shape_.stride, [&](auto tile, int i) {
        constexpr int N = decltype(tile)::value;
        typename V::Vector sum[N];
        PANDORA_UNROLL
        for (int v = 0; v < N; ++v) sum[v] = V::broadcast(Real(0));
        for (int s = box.progress->samples_at_solve; s < box.progress->samples; ++s) {
          const Real* const psi = lane_.tape.psi_of(box.rows[s], shape_.stride) + i;
          PANDORA_UNROLL
          for (int v = 0; v < N; ++v) {
            const typename V::Vector part = V::load(psi + v * V::width);
            sum[v] = V::fused(part, part, sum[v]);
          }
        }
        Real element[N * V::width];
        PANDORA_UNROLL
        for (int v = 0; v < N; ++v) V::store(element + v * V::width, sum[v]);
        for (int k = 0; k < N * V::width; ++k) line()[i + k] = static_cast<double>(element[k]);
      });
      team_.sync();
      squares += sum_of(n_, [&](int k) { return line()[k + 1]; });
    }
    if (team_.rank() == 0) {
      state_.squares += squares;
      state_.learn_scale(lane_.spec.shrinkage, n_);
    }
    team_.sync();
  }

  // gradient(a) at rho, and the weights of the box's samples.
  PANDORA_HD void evaluate(int a, IndexSums<Real, Team>& sums) {
    ++gradients_;
    sums.start(rho(a));
    sums.evaluate();
    const double weight = 1.0 / state_.dispersion[a];
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      const double penalty =
          k == 0 ? problem_.ridge_index.first * rho(a)[k] : state_.ridge_own * rho(a)[k] - delta() * slope_sum()[k];
      gradient(a)[k] = weight * scratch_.gradient[k] + penalty;
    }
    team_.sync();
  }

  // Gradient and B_a.
  PANDORA_HD bool open_box(int a) {
    const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a, scratch_);
    IndexSums<Real, Team> sums(team_, samples, nullptr, scratch_);
    evaluate(a, sums);
    const double squares = sums.moment_squares(), slopes = sums.curvature();
    if (team_.rank() == 0) {
      moment_squares()[a] = squares;
      curvature()[a] = slopes;
    }
    const double kappa = state_.dispersion[a];
    typename Solver<Real, Team>::Factor factor(team_, samples, scratch_);
    factor.template sum<Real>(Ridges(kappa * problem_.ridge_index.first, kappa * state_.ridge_own), true, matrix(a));
    if (!invert_symmetric(team_, box_matrix(a), m_, scratch_.factor)) return false;
    for (int at = team_.rank(); at < m_ * m_; at += team_.size()) matrix(a)[at] *= kappa;
    team_.sync();
    return true;
  }

  PANDORA_HD bool form_coupling() const {
    for (int i = team_.rank(); i < n_; i += team_.size()) {
      double *const sum = shared()[i], *const row = coupling()[i];
      for (int k = 0; k < n_; ++k) sum[k] = 0.0;
      for (int a = 0; a < A_; ++a)
        for (int k = 0; k < n_; ++k) sum[k] += slopes_of(a)[i + 1][k];
      for (int k = 0; k < n_; ++k) row[k] = (i == k ? 1.0 : 0.0) - delta() * sum[k];
    }
    team_.sync();
    return invert_symmetric(team_, coupling(), n_, scratch_.factor);
  }

  // d_a = -(B_a g_a + U_a S sum_b (-B_b g_b)[slopes])
  PANDORA_HD void point_downhill() const {
    for (int a = 0; a < A_; ++a) multiply_vector(team_, box_matrix(a), gradient(a), direction(a), m_, m_);
    for (int k = team_.rank(); k < n_; k += team_.size()) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum += direction(a)[k + 1];
      line()[k] = delta() * sum;
    }
    team_.sync();
    multiply_vector(team_, coupling(), line(), shift(), n_, n_);
    for (int a = 0; a < A_; ++a) {
      multiply_vector(team_, slopes_of(a), shift(), terms(), m_, n_);
      for (int k = team_.rank(); k < m_; k += team_.size()) direction(a)[k] = -(direction(a)[k] + terms()[k]);
      team_.sync();
    }
  }

  // gradient' direction over all boxes.
  PANDORA_HD double slope_now() const {
    return sum_of(m_, [&](int k) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum = fused(gradient(a)[k], direction(a)[k], sum);
      return sum;
    });
  }

  PANDORA_HD double slope_ahead() {
    for (int a = 0; a < A_; ++a) {
      const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a, scratch_);
      IndexSums<Real, Team> sums(team_, samples, nullptr, scratch_);
      evaluate(a, sums);
    }
    return slope_now();
  }

  // Traces of C, and how many parameters of a box the samples have determined:
  // tr(C_aa H_a) / kappa_a = tr(C_aa D_a) - tr(C_aa ridges), of which the first is m + tr(S B_a[slopes, slopes]).
  // `forms`: C_aa takes the place of B_a.
  PANDORA_HD SlopeSums sum_covariances(bool forms) const {
    SlopeSums sums{};
    sums.mean_trace = dot_matrices(team_, shared(), coupling(), n_, n_, terms()) / A_;
    for (int a = 0; a < A_; ++a) {
      const Rows slopes = slopes_of(a), own{slopes[1], m_};
      const double coupled = delta() * dot_matrices(team_, own, coupling(), n_, n_, terms());
      multiply_symmetric(team_, slopes, coupling(), product(), m_, n_);
      const double first = dot_matrices(team_, product(), slopes, 1, n_, terms()),
                   others = dot_matrices(team_, {product()[1], n_}, own, n_, n_, terms());
      const double trace = sum_of(n_, [&](int i) { return own[i][i]; }) + delta() * others;
      sums.trace += trace;
      if (team_.rank() == 0)
        determined()[a] = m_ + coupled - problem_.ridge_index.first * (box_matrix(a)[0][0] + delta() * first) -
                          state_.ridge_own * trace;
      team_.sync();
      if (!forms) continue;
      add_symmetric(team_, delta(), product(), slopes, box_matrix(a), shared(), m_, n_);
      for (int at = team_.rank(); at < m_ * m_; at += team_.size()) matrix(a)[at] = matrix(A_)[at];
      team_.sync();
    }
    return sums;
  }

  PANDORA_HD void move(double part) const {
    team_.sync();
    for (int a = 0; a < A_; ++a)
      for (int k = team_.rank(); k < m_; k += team_.size()) rho(a)[k] += part * direction(a)[k];
    sum_slopes();
  }

  PANDORA_HD void learn(SlopeSums& sums) const {
    sums.mean_square = sum_of(n_, [&](int k) { return slope_sum()[k + 1] * slope_sum()[k + 1]; }) / A_;
    sums.square = sum_of(n_, [&](int k) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum = fused(rho(a)[k + 1], rho(a)[k + 1], sum);
      return sum;
    });
    if (team_.rank() == 0) {
      for (int a = 0; a < A_; ++a)
        state_.dispersion[a] = JointState::dispersion_of(lane_.box[a].progress->samples, moment_squares()[a],
                                                         curvature()[a], determined()[a]);
      learn_ridges(state_, lane_.spec.shrinkage, A_, n_, sums);
    }
    team_.sync();
  }

  // rho and C_aa become the box's.
  PANDORA_HD void take(int a) const {
    const BoxView<Real>& box = lane_.box[a];
    for (int k = team_.rank(); k < m_; k += team_.size()) box.rho[k] = static_cast<Real>(rho(a)[k]);
    for (int at = team_.rank(); lane_.needs.curvature && at < m_ * m_; at += team_.size()) {
      const int i = at / m_, k = at % m_;
      box.curvature.P[i * shape_.stride + k] = static_cast<Real>(box_matrix(a)[k <= i ? i : k][k <= i ? k : i]);
    }
    if (team_.rank() == 0) box.progress->samples_at_solve = box.progress->samples;
    team_.sync();
  }

  const Team& team_;
  const Problem<Real>& problem_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  JointState& state_;
  const SolveScratch<Real>& scratch_;
  const int A_, m_, n_;
  int gradients_ = 0;
};

}  // namespace pandora::engine
